"""Make minimal edits that no rule of the embedded judges was written with.

    python -m training.edits > tests/data/edits_generated.jsonl

Sentences are filled from lists by a fixed seed, so the same records come out every time. Each is one
change away from its evidence, or says the same in other words.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence

SEED = 20
FILLS = 2
WORDS: dict[str, list[str]] = {
    "firm": ["Alder Brewery", "Quayside Cider", "Pellow Mills", "Harrow Foundry", "Tamsin Glass"],
    "bank": ["Corrib Bank", "Union Savings", "Dray Capital"],
    "person": ["Ines Calloway", "Bram Okafor", "Yusuf Lindqvist", "Petra Novak", "Hollis Grant", "Sana Mirza"],
    "town": ["Fenmouth", "Harlby", "Ostrava", "Kinvara", "Mirefield", "Santander"],
    "river": ["Tarn", "Wye", "Orne"],
    "beetle": ["bark", "stag", "ridge", "cloud"],
    "thing": ["kettles", "ladders", "lamps", "bicycles", "saddles", "stoves"],
    "spring": ["Abbey", "Miller", "Chapel"],
    "colour": ["green", "white", "black", "red"],
    "event": ["Solway", "Baltic", "Lakes"],
    "month": ["April", "July", "October"],
}  # fmt: skip
"""What the slots are filled with: `{firm1}` and `{firm2}` are two different firms."""

Frame = tuple[str, tuple[tuple[str, str], ...]]
FRAMES: tuple[Frame, ...] = (
    (
        "{firm1} took over {firm2} in {year1}. The deal was financed by {bank1} and cost {few1} million pounds. All {many1} employees kept their jobs.",
        (
            ("year", "{firm1} took over {firm2} in {year2}."),
            ("number", "The deal cost {few2} million pounds."),
            ("unit", "The deal cost {few1} billion pounds."),
            ("name", "The deal was financed by {bank2}."),
            ("negation", "{firm1} did not take over {firm2}."),
            ("antonym", "All {many1} employees lost their jobs."),
            ("role_swap", "{firm2} took over {firm1} in {year1}."),
            ("added_fact", "{firm1} took over {firm2} in {year1} after months of secret talks."),
            ("paraphrase", "In {year1}, {firm2} was taken over by {firm1}."),
            ("paraphrase", "{bank1} financed the deal."),
        ),
    ),
    (
        "The {beetle1} beetle eats oak leaves, whereas the {beetle2} beetle eats pine needles. Adults of both species live for {few1} weeks. Few of them survive the winter.",
        (
            ("unit", "Adults live for {few1} months."),
            ("negation", "The {beetle1} beetle does not eat oak leaves."),
            ("quantifier", "Most of them survive the winter."),
            ("attribute_swap", "The {beetle1} beetle eats pine needles."),
            ("role_swap", "The {beetle2} beetle eats oak leaves, whereas the {beetle1} beetle eats pine needles."),
            ("added_fact", "The {beetle2} beetle eats pine needles and the roots of young birches."),
            ("paraphrase", "Oak leaves are eaten by the {beetle1} beetle."),
            ("paraphrase", "Adults of both species live {few1} weeks."),
        ),
    ),
    (
        "Judge {person1} sentenced {person2} to {few1} months in prison on 14 {month1} {year1}. {person3}, the lawyer, wants to appeal. The verdict surprised the press.",
        (
            ("year", "Judge {person1} sentenced {person2} on 14 {month1} {year2}."),
            ("number", "Judge {person1} sentenced {person2} to {few2} months in prison."),
            ("unit", "Judge {person1} sentenced {person2} to {few1} years in prison."),
            ("name", "Judge {person4} sentenced {person2} to {few1} months in prison."),
            ("modality", "{person3}, the lawyer, appealed."),
            ("role_swap", "Judge {person2} sentenced {person1} to {few1} months in prison."),
            ("attribute_swap", "{person1}, the lawyer, wants to appeal."),
            ("paraphrase", "{person2} was sentenced to {few1} months in prison by Judge {person1}."),
            ("paraphrase", "The lawyer, {person3}, wants to appeal."),
        ),
    ),
    (
        "{town1} lies upstream of {town2} on the river {river1}. A ferry has linked the two towns since {year1}. It runs hourly in summer but only twice a day in winter.",
        (
            ("year", "A ferry has linked the two towns since {year2}."),
            ("name", "{town1} lies upstream of {town2} on the river {river2}."),
            ("antonym", "{town1} lies downstream of {town2}."),
            ("role_swap", "{town2} lies upstream of {town1} on the river {river1}."),
            ("attribute_swap", "The ferry runs twice a day in summer."),
            ("added_fact", "A ferry has linked the two towns since {year1}, and it carries bicycles free of charge."),
            ("quantifier", "The ferry never runs in winter."),
            ("paraphrase", "Since {year1} the two towns have been linked by a ferry."),
        ),
    ),
    (
        "The telescope weighs {many1} tonnes and its mirror measures {few1} metres. It was built by engineers from {town1} and shipped to {town2} in {year1}. Nobody was hurt when its roof collapsed.",
        (
            ("number", "The telescope weighs {many2} tonnes."),
            ("unit", "The mirror measures {few1} feet."),
            ("year", "It was shipped to {town2} in {year2}."),
            ("name", "The telescope was shipped to {town3}."),
            ("quantifier", "Several people were hurt when its roof collapsed."),
            ("role_swap", "The telescope was built by engineers from {town2} and shipped to {town1}."),
            ("attribute_swap", "The telescope weighs {few1} tonnes."),
            ("added_fact", "The telescope weighs {many1} tonnes and needs a crew of divers."),
            ("paraphrase", "Engineers from {town1} built the telescope."),
            ("paraphrase", "The mirror of the telescope measures {few1} metres."),
        ),
    ),
    (
        "Members pay {many1} crowns a year; students pay {few1} crowns. The treasurer, {person1}, must publish the accounts before {month1}. Guests may use the library.",
        (
            ("number", "Members pay {many2} crowns a year."),
            ("name", "The treasurer, {person2}, must publish the accounts before {month1}."),
            ("negation", "Guests may not use the library."),
            ("modality", "The treasurer may publish the accounts before {month1}."),
            ("modality", "Guests must use the library."),
            ("quantifier", "No guests may use the library."),
            ("attribute_swap", "Students pay {many1} crowns a year."),
            ("antonym", "The treasurer must publish the accounts after {month1}."),
            ("paraphrase", "A student pays {few1} crowns."),
            ("paraphrase", "The library may be used by guests."),
        ),
    ),
    (
        "{person1} taught {person2} to sail, and {person2} later defeated {person1} at the {event1} regatta in {year1}. The boat has a {colour1} hull and a {colour2} sail.",
        (
            ("year", "{person2} defeated {person1} at the {event1} regatta in {year2}."),
            ("name", "{person2} defeated {person1} at the {event2} regatta."),
            ("negation", "{person2} never defeated {person1}."),
            ("role_swap", "{person2} taught {person1} to sail."),
            ("attribute_swap", "The boat has a {colour2} hull and a {colour1} sail."),
            ("added_fact", "{person1} taught {person2} to sail on a flooded quarry."),
            ("antonym", "{person2} lost to {person1} at the {event1} regatta."),
            ("paraphrase", "{person2} was taught to sail by {person1}."),
            ("paraphrase", "The hull of the boat is {colour1}."),
        ),
    ),
    (
        "Sales of {thing1} grew by {few1} percent in {year1}, but sales of {thing2} shrank by {few2} percent. The head of the firm, {person1}, called the year disappointing.",
        (
            ("number", "Sales of {thing1} grew by {few3} percent."),
            ("antonym", "Sales of {thing1} shrank by {few1} percent."),
            ("attribute_swap", "Sales of {thing1} grew by {few2} percent."),
            ("role_swap", "Sales of {thing2} grew by {few1} percent, but sales of {thing1} shrank by {few2} percent."),
            ("added_fact", "Sales of {thing1} grew by {few1} percent because of new customers in Asia."),
            ("negation", "Sales of {thing1} did not grow in {year1}."),
            ("unit", "Sales of {thing1} grew by {few1} million."),
            ("paraphrase", "In {year1} sales of {thing1} grew by {few1} percent."),
            ("paraphrase", "{person1} called the year disappointing."),
        ),
    ),
    (
        "The orchestra played in {town1} before it travelled to {town2}. Most of the musicians are under thirty. The tour might be extended to {town3}. Its conductor plays the cello as well.",
        (
            ("name", "The orchestra played in {town4}."),
            ("quantifier", "All of the musicians are under thirty."),
            ("modality", "The tour will be extended to {town3}."),
            ("role_swap", "The orchestra played in {town2} before it travelled to {town1}."),
            ("antonym", "Most of the musicians are over thirty."),
            ("negation", "The conductor does not play the cello."),
            ("added_fact", "The orchestra played in {town1} in front of the queen."),
            ("paraphrase", "The orchestra travelled to {town2} after it had played in {town1}."),
            ("paraphrase", "The tour could be extended to {town3}."),
        ),
    ),
    (
        "Water from the {spring1} spring is warmer than water from the {spring2} spring. The bath house was closed in {year1} and reopened by {person1}. Some visitors complained about the smell. {person2} painted the ceiling.",
        (
            ("year", "The bath house was closed in {year2}."),
            ("quantifier", "All visitors complained about the smell."),
            ("antonym", "Water from the {spring1} spring is colder than water from the {spring2} spring."),
            ("role_swap", "Water from the {spring2} spring is warmer than water from the {spring1} spring."),
            ("attribute_swap", "The bath house was reopened by {person2}."),
            ("negation", "The bath house was not closed in {year1}."),
            ("modality", "The bath house may have been closed in {year1}."),
            ("paraphrase", "{person1} reopened the bath house."),
            ("paraphrase", "The ceiling was painted by {person2}."),
        ),
    ),
    (
        "The parcel left {town1} on Monday and reached {town2} on Thursday. It contained {many1} books for {person1}, who runs a school there. Pupils must wear boots, and {person2} should inspect the stairs next week.",
        (
            ("number", "It contained {many2} books for {person1}."),
            ("unit", "It contained {many1} boxes of books for {person1}."),
            ("role_swap", "The parcel left {town2} on Monday and reached {town1} on Thursday."),
            ("attribute_swap", "The parcel left {town1} on Thursday."),
            ("added_fact", "It contained {many1} books and two silver spoons for {person1}."),
            ("modality", "{person2} inspected the stairs."),
            ("modality", "Pupils may wear boots."),
            ("negation", "Pupils need not wear boots."),
            ("paraphrase", "{person1} runs a school there."),
            ("paraphrase", "On Thursday the parcel reached {town2}."),
        ),
    ),
)  # fmt: skip
"""The rules were changed once with what they got wrong of these in view."""

LAST: tuple[Frame, ...] = (
    (
        "{person1} hired {person2} as a translator in {year1}, after {person3} had turned the post down. The office on Canal Lane employs {many1} people and pays them every {few1} weeks. Nobody there speaks Danish.",
        (
            ("year", "{person1} hired {person2} as a translator in {year2}."),
            ("number", "The office on Canal Lane employs {many2} people."),
            ("unit", "The office pays its people every {few1} days."),
            ("name", "{person4} hired {person2} as a translator."),
            ("negation", "{person1} did not hire {person2} as a translator."),
            ("antonym", "{person1} dismissed {person2} in {year1}."),
            ("quantifier", "Everybody there speaks Danish."),
            ("role_swap", "{person2} hired {person1} as a translator in {year1}."),
            ("attribute_swap", "{person1} hired {person3} as a translator in {year1}."),
            ("modality", "{person1} might have hired {person2} as a translator."),
            ("added_fact", "The office on Canal Lane employs {many1} people and owns a fleet of vans."),
            ("paraphrase", "{person2} was hired as a translator by {person1}."),
            ("paraphrase", "Danish is spoken by nobody there."),
        ),
    ),
    (
        "The canal from {town1} to {town2} was dug by hand in {year1} and is {few1} metres deep. Barges carry {thing1} downstream and {thing2} upstream. Some of the locks leak, and the council intends to replace two gates.",
        (
            ("year", "The canal from {town1} to {town2} was dug by hand in {year2}."),
            ("number", "The canal is {few2} metres deep."),
            ("unit", "The canal is {few1} feet deep."),
            ("name", "The canal from {town1} to {town3} was dug by hand."),
            ("negation", "The canal was not dug by hand."),
            ("antonym", "Barges carry {thing1} upstream."),
            ("quantifier", "All of the locks leak."),
            ("role_swap", "The canal from {town2} to {town1} was dug by hand."),
            ("attribute_swap", "Barges carry {thing2} downstream and {thing1} upstream."),
            ("modality", "The council replaced two gates."),
            ("added_fact", "The canal was dug by hand in {year1} by convicts and soldiers."),
            ("paraphrase", "In {year1} the canal was dug by hand."),
            ("paraphrase", "The canal has a depth of {few1} metres."),
        ),
    ),
    (
        "In the {event1} trial, {person1} accused {person2} of copying {many1} pages, and {person3} defended {person2}. The court met for {few1} days in {month1} {year1}. Witnesses may be called again, but most reporters had left by noon.",
        (
            ("year", "The court met for {few1} days in {month1} {year2}."),
            ("number", "{person1} accused {person2} of copying {many2} pages."),
            ("unit", "The court met for {few1} weeks in {month1} {year1}."),
            ("name", "The court met for {few1} days in {month2}."),
            ("negation", "{person3} did not defend {person2}."),
            ("antonym", "Most reporters had stayed by noon."),
            ("quantifier", "All reporters had left by noon."),
            ("role_swap", "{person2} accused {person1} of copying {many1} pages."),
            ("attribute_swap", "{person1} defended {person2}."),
            ("modality", "Witnesses will be called again."),
            ("added_fact", "{person1} accused {person2} of copying {many1} pages from a stolen diary."),
            ("paraphrase", "{person2} was accused by {person1} of copying {many1} pages."),
            ("paraphrase", "By noon most reporters had left."),
        ),
    ),
    (
        "{firm1} lends {few1} machines to {firm2}, which repairs them for free. The {colour1} machines weave cotton, the {colour2} ones weave wool. Every machine was bought in {year1} from {bank1}, and visitors must wear gloves.",
        (
            ("year", "Every machine was bought in {year2}."),
            ("number", "{firm1} lends {few2} machines to {firm2}."),
            ("unit", "{firm1} lends {few1} dozen machines to {firm2}."),
            ("name", "Every machine was bought from {bank2}."),
            ("negation", "{firm1} lends no machines to {firm2}."),
            ("antonym", "Every machine was sold in {year1}."),
            ("quantifier", "No machine was bought in {year1}."),
            ("role_swap", "{firm2} lends {few1} machines to {firm1}."),
            ("attribute_swap", "The {colour1} machines weave wool."),
            ("modality", "Visitors may wear gloves."),
            ("added_fact", "Visitors must wear gloves and sign a waiver."),
            ("paraphrase", "{firm2} repairs the machines for free."),
            ("paraphrase", "Cotton is woven by the {colour1} machines."),
        ),
    ),
    (
        "Rain falls on {many1} days a year in {town1} and on {few1} days in {town2}. The station on the {river1} was opened by {person1} before the {event1} flood of {year1}. Few farms were insured, and the mayor should publish a list.",
        (
            ("year", "The station was opened before the {event1} flood of {year2}."),
            ("number", "Rain falls on {many2} days a year in {town1}."),
            ("unit", "Rain falls on {few1} weeks in {town2}."),
            ("name", "The station was opened by {person2}."),
            ("negation", "The station was never opened by {person1}."),
            ("antonym", "The station was closed by {person1} before the flood."),
            ("quantifier", "Most farms were insured."),
            ("role_swap", "The {event1} flood of {year1} came before {person1} opened the station."),
            ("attribute_swap", "Rain falls on {few1} days a year in {town1}."),
            ("modality", "The mayor published a list."),
            ("added_fact", "Few farms were insured because of a quarrel among brokers."),
            ("paraphrase", "{person1} opened the station before the {event1} flood."),
            ("paraphrase", "In {town2} rain falls on {few1} days."),
        ),
    ),
    (
        "{person1} plays the harp better than {person2}, but {person2} sings louder. Their choir was founded in {town1} in {year1}; {many1} singers joined within {few1} hours. Half of them came from {town2}. The hall could be torn down next spring.",
        (
            ("year", "Their choir was founded in {town1} in {year2}."),
            ("number", "{many2} singers joined within {few1} hours."),
            ("unit", "{many1} singers joined within {few1} minutes."),
            ("name", "Their choir was founded in {town3}."),
            ("negation", "Their choir was not founded in {town1}."),
            ("antonym", "{person1} plays the harp worse than {person2}."),
            ("quantifier", "All of them came from {town2}."),
            ("role_swap", "{person2} plays the harp better than {person1}."),
            ("attribute_swap", "Their choir was founded in {town2} in {year1}."),
            ("modality", "The hall will be torn down next spring."),
            ("added_fact", "Their choir was founded in {town1} in {year1} with a gift of violins."),
            ("paraphrase", "{person2} sings louder than {person1}."),
            ("paraphrase", "Within {few1} hours {many1} singers joined."),
        ),
    ),
)  # fmt: skip
"""Written after all rules; nothing was changed with these in view."""


def records(frames: Sequence[Frame], name: str, fills: int) -> Iterator[dict[str, object]]:
    """The records: id, kind, evidence, claim, and whether the evidence carries the claim."""
    draw = random.Random(SEED)  # noqa: S311 - nothing secret is drawn
    at = 0
    for _ in range(fills):
        for evidence, changes in frames:
            words = _filled(draw)
            for kind, claim in changes:
                at += 1
                yield {
                    "id": f"{name}-{at:03}", "kind": kind, "evidence": evidence.format(**words),
                    "claim": claim.format(**words), "supported": kind == "paraphrase",
                }  # fmt: skip


def _filled(draw: random.Random) -> dict[str, str]:
    """One value for each slot."""
    found = {
        f"{name}{i}": word
        for name, listed in WORDS.items()
        for i, word in enumerate(draw.sample(listed, len(listed)), start=1)
    }
    for name, low, high in (("year", 1871, 2021), ("few", 3, 19), ("many", 24, 480)):
        numbers = draw.sample(range(low, high), 3)
        found |= {f"{name}{i}": str(value) for i, value in enumerate(numbers, start=1)}
    return found


def main() -> None:
    """Print the records, one a line."""
    for record in (*records(FRAMES, "generated", FILLS), *records(LAST, "last", 1)):
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
