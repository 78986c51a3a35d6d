"""Numbers with units in every script: what is read, where it stands, and what strict makes of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

import aletheia
from aletheia.grounding.number_myriads import myriads
from aletheia.grounding.number_names import CURRENCY_NAMES, UNIT_NAMES
from aletheia.grounding.quantities import numeric_mentions, quantities
from aletheia.grounding.text import fold
from aletheia.grounding.units import leading_suffix


def only(text):
    """The only quantity of `text`, and the part of the text as given where it stands."""
    folded = fold(text)
    found = quantities(folded.text)
    assert len(found) == 1, (text, found)
    start, end = folded.span(found[0].start, found[0].end)
    return found[0], text[start:end]


@pytest.mark.parametrize(
    ("text", "written", "value", "named"),
    [
        # Latin units with kana, Hangul, Han, Thai or Devanagari behind them
        ("重さは3.1kgです", "3.1kg", Fraction(31, 10), "kg"),
        ("무게는 3.1kg이다", "3.1kg", Fraction(31, 10), "kg"),
        ("5km走った", "5km", 5, "km"),
        ("時速5km/hで", "5km/h", 5, "km/h"),
        ("10m²の部屋", "10m²", 10, "m^2"),
        ("16GB메모리", "16GB", 16, "GB"),
        ("3.1kgครับ", "3.1kg", Fraction(31, 10), "kg"),
        ("5kgका", "5kg", 5, "kg"),
        ("気温は20℃です", "20℃", 20, "°C"),
        ("20°Cです", "20°C", 20, "°C"),
        ("重さは３．１ｋｇです", "３．１ｋｇ", Fraction(31, 10), "kg"),
        ("約3kgの", "3kg", 3, "kg"),
        ("40%の人", "40%", 40, None),
        ("3,000円でした", "3,000円", 3000, "JPY"),
        ("€5は", "€5", 5, "EUR"),
        ("5€は", "5€", 5, "EUR"),
        # Cyrillic
        ("масса 3,1 кг", "3,1 кг", Fraction(31, 10), "kg"),
        ("масса 5кг.", "5кг", 5, "kg"),
        ("5 г соли", "5 г", 5, "g"),
        ("100 мг", "100 мг", 100, "mg"),
        ("10 км/ч", "10 км/ч", 10, "km/h"),
        ("5 м", "5 м", 5, "m"),
        ("5 см", "5 см", 5, "cm"),
        ("5 мм", "5 мм", 5, "mm"),
        ("2 л", "2 л", 2, "l"),
        ("5 мл", "5 мл", 5, "ml"),
        ("3 ч", "3 ч", 3, "h"),
        ("3 мин", "3 мин", 3, "min"),
        ("5 с.", "5 с", 5, "s"),
        ("20 °С", "20 °С", 20, "°C"),
        ("5 кв. км", "5 кв. км", 5, "km^2"),
        ("5 л.с.", "5 л.с", 5, "hp"),
        ("5 кВт·ч", "5 кВт·ч", 5, "kWh"),
        ("5 млн руб.", "5 млн руб", 5_000_000, "₽"),
        ("5 млрд рублей", "5 млрд рублей", 5 * 10**9, "₽"),
        ("3 тыс. рублей", "3 тыс. рублей", 3000, "₽"),
        ("100 ₽", "100 ₽", 100, "₽"),
        ("100 гривен", "100 гривен", 100, "UAH"),
        # Devanagari
        ("वजन 3.1 किग्रा है", "3.1 किग्रा", Fraction(31, 10), "kg"),
        ("३.१ किलोग्राम", "३.१ किलोग्राम", Fraction(31, 10), "kg"),
        ("5 किमी", "5 किमी", 5, "km"),
        ("5 कि.मी. दूर", "5 कि.मी", 5, "km"),
        ("5 मीटर", "5 मीटर", 5, "m"),
        ("5 लाख रुपये", "5 लाख रुपये", 500_000, "₹"),
        ("₹100 का", "₹100", 100, "₹"),
        # Thai, where nothing stands between words
        ("น้ำหนัก3.1กิโลกรัม", "3.1กิโลกรัม", Fraction(31, 10), "kg"),
        ("5 ลิตรต่อวัน", "5 ลิตร", 5, "l"),
        ("2000 บาทต่อวัน", "2000 บาท", 2000, "฿"),
        ("5 พันล้านบาท", "5 พันล้านบาท", 5 * 10**9, "฿"),
        # Arabic and Persian, with their digits
        ("٣٫١ كغم", "٣٫١ كغم", Fraction(31, 10), "kg"),
        ("وزنه 5كجم", "5كجم", 5, "kg"),
        ("الطول 5 كم", "5 كم", 5, "km"),
        ("5 متر", "5 متر", 5, "m"),
        ("20 درجة مئوية", "20 درجة مئوية", 20, "°C"),
        ("5 ملايين دولار", "5 ملايين دولار", 5_000_000, "$"),
        ("۵ کیلوگرم", "۵ کیلوگرم", 5, "kg"),
        # Hebrew, with either mark
        ('משקלו 3.1 ק"ג', '3.1 ק"ג', Fraction(31, 10), "kg"),
        ("ב-5 ק״מ", "5 ק״מ", 5, "km"),
        ("100 ש״ח", "100 ש״ח", 100, "₪"),
        # Chinese, Japanese, Korean
        ("5公里长", "5公里", 5, "km"),
        ("5千米", "5千米", 5, "km"),
        ("5公斤重", "5公斤", 5, "kg"),
        ("5千克", "5千克", 5, "kg"),
        ("5米长", "5米", 5, "m"),
        ("5厘米", "5厘米", 5, "cm"),
        ("60公里/小时", "60公里/小时", 60, "km/h"),
        ("100元钱", "100元", 100, "CNY"),
        ("5キログラムの", "5キログラム", 5, "kg"),
        ("5グラム", "5グラム", 5, "g"),
        ("100ドルの", "100ドル", 100, "$"),
        ("5킬로그램이다", "5킬로그램", 5, "kg"),
        ("5킬로미터", "5킬로미터", 5, "km"),
        ("5킬로 미터", "5킬로 미터", 5, "km"),
        ("100원이다", "100원", 100, "₩"),
        ("5분안에", "5분", 5, "min"),
        # scales that add up
        ("3億5千万円", "3億5千万円", 350_000_000, "JPY"),
        ("5万5千円", "5万5千円", 55_000, "JPY"),
        ("1万2,345円", "1万2,345円", 12_345, "JPY"),
        ("3亿5000万元", "3亿5000万元", 350_000_000, "CNY"),
        ("3억 5천만 원", "3억 5천만 원", 350_000_000, "₩"),
        ("2천5백만원", "2천5백만원", 25_000_000, "₩"),
        ("5조 3000억 원", "5조 3000억 원", 5_300_000_000_000, "₩"),
        ("1億2,000万人", "1億2,000万", 120_000_000, None),
        ("5만명", "5만", 50_000, None),
    ],
)
def test_number_and_unit_are_read_where_they_stand(text, written, value, named):
    found, at = only(text)
    assert (at, found.value, found.unit or found.currency) == (written, value, named)


@pytest.mark.parametrize(
    ("text", "low", "high", "named"),
    [
        ("3〜5km", 3, 5, "km"),
        ("3～5kgの", 3, 5, "kg"),
        ("от 5 до 10 км", 5, 10, "km"),
        ("10 से 15%", 10, 15, None),
        ("من 5 إلى 10 كم", 5, 10, "km"),
        ("3〜5億円", 300_000_000, 500_000_000, "JPY"),
        ("3~5만 원", 30_000, 50_000, "₩"),
        ("5-10 lakh rupees", 500_000, 1_000_000, "₹"),
    ],
)
def test_ranges_share_unit_and_scale(text, low, high, named):
    found, _ = only(text)
    assert (found.value, found.high, found.unit or found.currency) == (low, high, named)


@pytest.mark.parametrize(
    "text",
    [
        "第3回",
        "第3天",
        "제3조",
        "3人",
        "3本",
        "3個",
        "3명이",
        "3개",
        "5조각",
        "5 원피스",
        "3배우",
        "5斤",
        "5トンネル",
        "5米国企業",
        "5克拉",
        "10周年",
        "3 с половиной",
        "3 человека",
        "5 часов утра",
        "5 คน",
        "5 เท่ากับ",
        "5 वाँ",
        "5 מקומות",
        "5 كتب",
        "150 шт.",
    ],
)
def test_counters_ranks_and_longer_words_are_no_units(text):
    found, _ = only(text)
    assert (found.kind, found.unit, found.currency, found.scaled) == ("number", None, None, False)


@pytest.mark.parametrize("text", ["1080zで", "iPhone15は", "H2Oは", "COVID-19は", "5Gは", "7z형식"])
def test_identifiers_before_another_script_stay_text(text):
    assert quantities(fold(text).text) == []


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("2021年に", "year"),
        ("2021 г.", "year"),
        ("в 2021 г было", "year"),
        ("2021 года", "year"),
        ("в 2020 с компанией", "year"),
        ("2021 में", "year"),
        ("ב-2021", "year"),
        ("3분기에", "quarter"),
        ("第3季度", "quarter"),
    ],
)
def test_years_and_quarters_are_dates(text, precision):
    found = numeric_mentions(fold(text).text)
    assert [mention.precision for mention in found.dates] == [precision]
    assert found.quantities == ()


def test_grams_are_told_from_years():
    assert only("2000 г муки")[0].unit == "g"


@pytest.mark.parametrize(
    ("text", "value"),
    [("5분의 1", Fraction(1, 5)), ("5分の3", Fraction(3, 5)), ("3分之1", Fraction(1, 3))],
)
def test_shares_told_from_below(text, value):
    assert (only(text)[0].kind, only(text)[0].value) == ("fraction", value)


@pytest.mark.parametrize("text", ["3万", "1万5", "5千万", "5", "3억 5개"])
def test_one_term_is_no_joined_numeral(text):
    assert myriads(text, 0) is None


def test_longest_name_counts():
    assert leading_suffix("キログラムの")[0] == len("キログラム")
    assert leading_suffix("米国")[1] is None


ANSWERS = [
    # evidence, an answer that says the same, one with another number
    ("重さは3.1kgです。", "重さは3100gです。", "重さは4.1kgです。"),
    ("重さは３．１ｋｇです。", "重さは3.1kgです。", "重さは3.7kgです。"),
    ("무게는 3.1kg이다.", "무게는 3.1킬로그램이다.", "무게는 5.1kg이다."),
    ("彼は5km走った。", "彼は5キロ走った。", "彼は8km走った。"),
    ("体重は60キロです。", "体重は60kgです。", "体重は70kgです。"),
    ("40%の人が賛成した。", "40%の人が賛成した。", "60%の人が賛成した。"),
    ("値段は3,000円でした。", "値段は3千円でした。", "値段は5,000円でした。"),
    ("予算は3億5千万円です。", "予算は3.5億円です。", "予算は3億7千万円です。"),
    ("2021年に開業した。", "2021年に開業した。", "2019年に開業した。"),
    ("Масса посылки 3,1 кг.", "Масса посылки 3100 г.", "Масса посылки 4,1 кг."),
    ("Бюджет 5 млн руб.", "Бюджет 5 000 000 рублей.", "Бюджет 6 млн руб."),
    ("Скорость 90 км/ч.", "Скорость 90 км/ч.", "Скорость 60 км/ч."),
    ("Цена 100 ₽.", "Цена 100 руб.", "Цена 150 ₽."),
    ("Ціна 100 гривень.", "Ціна 100 грн.", "Ціна 200 грн."),
    ("वजन 3.1 किग्रा है।", "वजन 3100 ग्राम है।", "वजन 4.1 किग्रा है।"),
    ("दूरी 5 किमी है।", "दूरी 5000 मीटर है।", "दूरी 7 किमी है।"),
    ("कीमत 5 लाख रुपये है।", "कीमत 500000 रुपये है।", "कीमत 6 लाख रुपये है।"),
    ("น้ำหนัก 3.1 กิโลกรัม", "น้ำหนัก 3.1 กก.", "น้ำหนัก 4.1 กิโลกรัม"),
    ("ราคา 100 บาท", "ราคา 100 บาท", "ราคา 300 บาท"),
    ("الوزن 3.1 كغ.", "الوزن 3100 غرام.", "الوزن 4.1 كغ."),
    ("المسافة ٥ كم.", "المسافة 5 كم.", "المسافة 7 كم."),
    ('המשקל 3.1 ק"ג.', "המשקל 3100 גרם.", 'המשקל 4.1 ק"ג.'),
    ('המחיר 100 ש"ח.', 'המחיר 100 ש"ח.', 'המחיר 150 ש"ח.'),
    ("全长5公里。", "全长5000米。", "全长8公里。"),
    ("重5公斤。", "重5千克。", "重7公斤。"),
    ("길이는 5킬로미터이다.", "길이는 5km이다.", "길이는 9킬로미터이다."),
    ("가격은 3억 5천만 원이다.", "가격은 3억5000만원이다.", "가격은 4억 5천만 원이다."),
    ("مدت آن شش سال است.", "مدت آن ۶ سال است.", "مدت آن ۹ سال است."),
]


def strict(evidence, answer):
    """The findings about numbers and dates, and whether strict accepts the answer."""
    found = aletheia.verify([evidence], {"answer": answer, "evidence_ids": ["E1"]})
    return found.verified, [item for item in found.findings if item.kind in ("number", "date")]


@pytest.mark.parametrize(("evidence", "same", "other"), ANSWERS)
def test_strict_takes_the_same_amount_and_no_other(evidence, same, other):
    assert strict(evidence, same)[1] == []
    verified, findings = strict(evidence, other)
    assert not verified
    assert findings != []


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ("重さは5kgです。", "重さは5gです。"),
        ("Масса 50 кг.", "Масса 50 г."),
        ("الوزن 50 كغ.", "الوزن 50 كم."),
        ("दूरी 50 किमी है।", "दूरी 50 मीटर है।"),
        ("ราคา 100 บาท", "ราคา 100 ดอลลาร์"),
        ("길이는 50미터이다.", "길이는 50킬로미터이다."),
        ("全长50公里。", "全长50米。"),
        ("体重は60キロです。", "体重は60gです。"),
    ],
)
def test_same_number_with_another_unit_is_refused(evidence, answer):
    verified, findings = strict(evidence, answer)
    assert not verified
    assert [item.reason for item in findings] != []


def _names():
    for symbol, names in UNIT_NAMES.items():
        yield from ((name, symbol) for name in names.split())
    for code, names in CURRENCY_NAMES.items():
        yield from ((name, code) for name in names.split())


def test_every_name_of_the_tables_is_read_with_a_space_and_without():
    missed = []
    for name, symbol in _names():
        if "°" in name:
            continue  # read with a capital only
        # Names of several words stand apart from the number.
        for text in (f"7 {name}",) if "-" in name else (f"7 {name}", f"7{name}"):
            spelled = fold(text.replace("-", " ")).text
            found = quantities(spelled)
            if [(item.unit or item.currency, item.end) for item in found] != [
                (symbol, len(spelled))
            ]:
                missed.append((text, found))
    assert missed == []
