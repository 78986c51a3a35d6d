"""Abstentions: the literal, refusals in words, statements, and what an abstention means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.diagnosis.abstention import (
    abstention_kind,
    gold_in_evidence,
    is_abstention_literal,
    refusal,
    statements,
)
from aletheia.grounding.numbering import number
from aletheia.schema.evidence import EvidenceText


@pytest.mark.parametrize(
    "answer",
    [
        "INSUFFICIENT_CONTEXT", "insufficient_context", " Insufficient context.\n", '"INSUFFICIENT_CONTEXT"',
        "`INSUFFICIENT_CONTEXT`", "**INSUFFICIENT_CONTEXT**", "INSUFFICIENT-CONTEXT", "INSUFFICIENT_CONTEXT [E1]",
        "INSUFFICIENT_CONTEXT [E1][E2].", "[INSUFFICIENT_CONTEXT]",
    ],
)  # fmt: skip
def test_the_literal_in_its_usual_spellings(answer: str) -> None:
    assert is_abstention_literal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "INSUFFICIENT",
        "INSUFFICIENT_CONTEXT because",
        "The INSUFFICIENT_CONTEXT",
        "INSUFFICIENT_CONTEXT: Paris",
    ],
)
def test_anything_beside_the_literal_is_not_the_literal(answer: str) -> None:
    assert not is_abstention_literal(answer)


REFUSALS = {
    "en": [
        "IDK", "idk.", "I don't know.", "I don’t know", "I do not know who chairs the board.", "**I don't know.**",
        "I'm not sure.", "No idea.", "The evidence does not say", "The evidence does not say who chairs the board.",
        "The context does not contain enough information to answer", "Not enough information.",
        "I'm sorry, but I don't know.", "Unfortunately, the provided documents do not mention the chair.",
        "I cannot answer this question based on the provided context.", "It cannot be determined from the evidence.",
        "There is no information about the chair in the provided evidence.", "I am unable to answer the question.",
        "Based on the evidence provided, I cannot determine who founded it.", "The answer is not in the evidence.",
        "None of the provided passages mention the founder.", "I couldn't find any information about the chair.",
        "Sorry, I don't have enough information to answer that. Let me know if you have other questions!",
        "INSUFFICIENT_CONTEXT. The evidence does not mention the date.", "The evidence is insufficient.",
        "Hello! I don't know.", "Unable to answer based on given passages.", "Not stated in the evidence.",
    ],
    "de": [
        "Ich weiß es nicht.", "Das weiß ich leider nicht.", "Keine Ahnung.", "Nicht genügend Informationen.",
        "Die Belege enthalten keine Informationen darüber.", "Ich kann diese Frage nicht beantworten.",
        "Der Kontext enthält nicht genügend Informationen, um die Frage zu beantworten.",
        "Leider geht das aus den Quellen nicht hervor.",
    ],
    "fr": [
        "Je ne sais pas.", "Je ne sais pas qui dirige le conseil.", "Aucune idée.",
        "Le contexte ne contient pas assez d'informations pour répondre.",
        "Désolé, je ne peux pas répondre.", "Les documents fournis ne précisent pas la date.",
    ],
    "es": [
        "No lo sé.", "No sé.", "Lo siento, no puedo responder.", "La evidencia no dice quién preside el consejo.",
        "El contexto no contiene suficiente información para responder.", "No hay información suficiente.",
    ],
    "it": [
        "Non lo so.", "Il contesto non contiene informazioni sufficienti per rispondere.",
        "Mi dispiace, non posso rispondere.", "Informazioni insufficienti.",
    ],
    "pt": [
        "Não sei.", "O contexto não contém informações suficientes para responder.", "Não há informações.",
        "Desculpe, não posso responder.",
    ],
    "nl": [
        "Ik weet het niet.", "De context bevat niet genoeg informatie om te antwoorden.", "Geen idee.",
        "Onvoldoende informatie.",
    ],
    "ru": [
        "Я не знаю.", "В контексте нет информации об этом.", "Недостаточно информации для ответа.",
        "К сожалению, я не могу ответить.",
    ],
    "zh": ["我不知道。", "不知道", "根据提供的证据，无法确定。", "上下文没有足够的信息来回答这个问题。", "抱歉，我无法回答。"],
    "ja": ["わかりません。", "申し訳ありませんが、わかりません。", "提供された証拠には記載がありません。", "情報が不足しています。"],
    "ko": ["모르겠습니다.", "죄송합니다만, 모르겠습니다.", "제공된 문맥에는 정보가 충분하지 않습니다.", "정보가 부족합니다."],
    "ar": ["لا أعرف.", "لا يحتوي السياق على معلومات كافية للإجابة.", "لا توجد معلومات كافية.", "آسف، لا أعرف."],
    "hi": ["मुझे नहीं पता।", "संदर्भ में पर्याप्त जानकारी नहीं है।", "पता नहीं", "क्षमा करें, मुझे नहीं पता।"],
    "other": ["Nie wiem.", "Bilmiyorum.", "Jag vet inte.", "Saya tidak tahu.", "Tôi không biết.", "Δεν ξέρω."],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "answer"), [(code, text) for code, texts in REFUSALS.items() for text in texts]
)
def test_a_whole_answer_that_refuses_is_a_refusal(language: str, answer: str) -> None:
    found = refusal(answer)

    assert found is not None
    assert found.language == language
    assert found.text == answer[found.start : found.end]


@pytest.mark.parametrize(
    "answer",
    [
        "", "Paris.", "Unknown.", "No.", "None.", "I know.", "N/A", "It closed in 1999.",
        "I don't know the exact date, but it opened in May.", "I'm not sure, probably Mara Quill.",
        "I don't know, Mara did.", "I don't know because the evidence covers only 2019.", '"I don\'t know."',
        "“I don't know,” the clerk said.", "He said he does not know.", "I do not know him.",
        "The evidence does not say, and the 40% figure is wrong.", "The evidence does not say who did it [E1].",
        "The evidence does not support the claim.", "The evidence does not name Mara; Ilse signed.",
        "There is no information desk at the station.", "No information was given to the police.",
        "The report does not mention the victim.", "The document does not include a warranty.",
        "No data was lost.", "The data does not have a header.", "The information is not classified.",
        "INSUFFICIENT_CONTEXT but it is Paris.", "I cannot find the pilot and the 40% figure is wrong.",
        "Sorry, it opened in 1999.", "I don't know. It opened in 1999.", "Mara. I don't know more.",
        "The evidence does not mention her while Bo is listed as a founder.", "Hello!", "I cannot open it.",
        "Ich weiß es nicht, aber Mara hat unterschrieben.", "Der Kontext enthält zwei Namen.",
        "Je ne sais pas, mais c'est Mara.", "No lo sé, pero fue Mara.", "Não sei, mas foi Mara.",
        "我不知道，但是价格是40元。", "我知道答案是40。", "В контексте есть ответ.", "لا أعرف، لكن السعر ٤٠.",
        "わかりませんが、40%は間違いです。", "मुझे नहीं पता, लेकिन कीमत 40 है।",
    ],
)  # fmt: skip
def test_an_answer_that_says_anything_else_is_no_refusal(answer: str) -> None:
    assert refusal(answer) is None


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        ("Leeds.", ["claim"]),
        (
            "Hi! Happy to help. It opens at 8 [E1]. Anything else?",
            ["small_talk", "small_talk", "claim", "small_talk"],
        ),
        ("I have nothing on the pilot, but the 40% figure is wrong.", ["refusal", "claim"]),
        ("I'm sorry to hear that; the refund takes 5 days.", ["small_talk", "claim"]),
        ("INSUFFICIENT_CONTEXT: the evidence does not say.", ["refusal"]),
        ("INSUFFICIENT_CONTEXT: it is Leeds.", ["refusal", "claim"]),
        ("## Market Gap\nUncertainty remains.", ["heading", "claim"]),
        ("Market Gap\nUncertainty remains.", ["heading", "claim"]),
        ("**Cities**\n- Leeds\n- York", ["heading", "claim", "claim"]),
        ("Cities:\n- Leeds", ["heading", "claim"]),
        ("The colours of the flag are:\n- red", ["claim", "claim"]),
        ("# Since 1999\nIt opened.", ["claim", "claim"]),
        ("Leeds\nYork\nHull [E1]", ["claim", "claim", "claim"]),
        ("Leeds", ["claim"]),
        ("Sure! I hope this helps.", ["small_talk", "small_talk"]),
        ("Guten Tag! Es öffnet um 8. Vielen Dank!", ["small_talk", "claim", "small_talk"]),
        ("你好！诊所8点开门。希望对您有帮助。", ["small_talk", "claim", "small_talk"]),
        ("Thank you for asking, it opens at 8.", ["claim"]),
        ("", []),
    ],
)
def test_statements_have_a_kind(answer: str, kinds: list[str]) -> None:
    assert [statement.kind for statement in statements(answer)] == kinds


@given(
    st.lists(
        st.sampled_from(
            [
                "Hi! ",
                "IDK",
                " but ",
                "; ",
                "It is 5 [E1]. ",
                "\n",
                "# Head\n",
                ": ",
                "、",
                "。",
                "😀",
                "İ",
                "Sorry, ",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_statements_are_true_spans_that_leave_only_punctuation_out(answer: str) -> None:
    position = 0
    for statement in statements(answer):
        assert statement.text == answer[statement.start : statement.end] != ""
        assert not any(map(str.isalnum, answer[position : statement.start]))
        position = statement.end
    assert not any(map(str.isalnum, answer[position:]))


EVIDENCE = number(
    [
        "Velda Corp was founded by Mara Quill and José Núñez in Zürich on 4 March 2019.",
        EvidenceText(
            text="It has 1,000 staff and uses C++.", source="Port Ellery Gazette", aliases=("VC",)
        ),
        "東京都で開催。本社は京都市です。",
        "السعر ١٢٣",
        "2021-07-30: the -5% rule.",
    ]
)


@pytest.mark.parametrize(
    ("gold", "aliases", "found"),
    [
        ("Mara Quill", (), True),
        ("mara quill", (), True),
        ("Jose Nunez", (), True),
        ("Zurich", (), True),
        ("Zu\u0308rich", (), True),
        ("Port Ellery", (), True),
        ("VC", (), True),
        ("Mara", (), True),
        ("Quil", (), False),
        ("Ilse Braun", (), False),
        ("Ilse Braun", ("Mara Quill",), True),
        ("2019", (), True),
        ("2018", (), False),
        ("201", (), False),
        ("1000", (), True),
        ("100", (), False),
        ("March 4, 2019", (), True),
        ("2019-03-04", (), True),
        ("March 2019", (), True),
        ("5 March 2019", (), False),
        ("30 July 2021", (), True),
        ("July 2021", (), True),
        ("C++", (), True),
        ("C#", (), False),
        ("123", (), True),
        ("Mara Quill and José Núñez", (), True),
        ("José Núñez, Mara Quill", (), True),
        ("Mara Quill, Ilse Braun", (), False),
        ("東京都", (), True),
        ("京都市", (), True),
        ("大阪", (), False),
        ("yes", (), None),
        ("No", (), None),
        ("", (), None),
        ("INSUFFICIENT_CONTEXT", (), None),
        ("Velda opened because its founders wanted a port.", (), None),
        ("yes", ("Ilse Braun",), False),
    ],
)
def test_the_gold_answer_is_looked_up_as_whole_words(
    gold: str, aliases: tuple[str, ...], found: bool | None
) -> None:
    assert gold_in_evidence(gold, aliases, EVIDENCE) is found


def test_a_name_inside_a_longer_run_of_the_script_is_undecided() -> None:
    assert gold_in_evidence("京都", (), number(["東京都で開催。"])) is None


@pytest.mark.parametrize(
    ("abstained", "gold", "answerable", "kind"),
    [
        (False, "Mara Quill", True, None),
        (False, "INSUFFICIENT_CONTEXT", False, None),
        (True, "Mara Quill", True, "over_refusal"),
        (True, "Ilse Braun", True, "warranted"),
        (True, "yes", True, "undecided"),
        (True, "INSUFFICIENT_CONTEXT", False, "warranted"),
        (True, "Mara Quill", False, "warranted"),
    ],
)
def test_what_an_abstention_means(
    abstained: bool, gold: str, answerable: bool, kind: str | None
) -> None:
    found = abstention_kind(
        abstained=abstained, gold_answer=gold, aliases=(), evidence=EVIDENCE, answerable=answerable
    )

    assert found == kind


def test_without_evidence_an_abstention_is_warranted() -> None:
    found = abstention_kind(
        abstained=True, gold_answer="yes", aliases=(), evidence=number([]), answerable=True
    )

    assert found == "warranted"
