"""Relations as classes of words: what people say for one and the same relation.

General English, and the verb of founding in three more languages. A question about `set up` is met
by a sentence about `founded`. A word may be in several classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_CLASSES: Final = """
found: form formed formation forms start started starter starts begin_operating began_operating
    come_into_being came_into_being brought_into_being founded founder cofounded cofounder
    establish established set_up create created creator start_up gründete gegründet gründer fondée
    fondé fondateur fundó fundada fundador
active: active activity activities operate operates operated operating
dissolve: dissolve dissolved disband disbanded break_up broke_up defunct wound_up
complete: complete completed completion finished finish
begin: begin began begun start started starts since from become became take_up took_up
end: end ended ends stop stopped until till cease ceased step_down stepped_down leave_office
    left_office cease_to_be resign resigned finish finished
close: close closed closes closure shut shut_down shuttered
open: open opened opens opening inaugurated
located: base stand stood be_found situate located location situated lies based headquartered
    headquarters seat lie sits stands site home
live: live lives lived reside resides resident inhabit inhabits habitat
lead: lead leads led leader head headed heads chief run_by runs director directed directs chair
    chairs chaired chairman chairwoman president manager manages managed boss in_charge ceo
    governs warden captain commander commands commanded
own: own owns owned owner ownership belong belongs possess possessed proprietor
make: make makes made maker manufacture manufactured manufactures manufacturer produce produces
    produced producer production
build: build builds built builder construct constructed construction erected
design: design designed designer designs architect drew_up planned
invent: invent invented inventor invention devised
discover: discover discovered discoverer discovery find_first identified_first
write: write wrote written writes author authored writer
paint: paint painted painter painting
compose: compose composed composer
marry: marry married marries marriage husband wife spouse wed wedded partner
parent: mother father parent parents mum dad
child: son daughter child children sons daughters
sibling: brother sister sibling siblings brothers sisters
birth: born birth native hail hails birthplace birthday
death: pass_away passed_away die died dies death dead killed deceased
study: study studied studies educated education alma_mater graduate graduated attended student
teach: teach taught teaches teacher professor lecturer
occupation: occupation profession job for_a_living career
employ: employ employs employed employee employees staff workforce workers works_for worked_for
member: member members membership belongs_to joined join
length: length long
height: height high tall elevation altitude
depth: depth deep
width: width wide breadth broad span
weight: weight weigh weighs heavy mass
speed: speed fast quickly velocity
duration: duration long last lasts lasted
area: area size surface large big extent
temperature: temperature hot cold warm
age: age old
cost: cost costs price fee charge charged fare expensive priced rate
yearly: annual annually yearly per_year a_year each_year every_year
monthly: monthly per_month a_month
income: revenue turnover sales
people: live lives populous resident population inhabitants residents people_live
hold: held hold holds take_place takes_place took_place happen happened happens occur occurred
    occurs celebrated staged
release: release released publish published publishes publisher publication appear_first
launch: launch launched launches
introduce: introduce introduced introduction
retire: retire retired retirement decommissioned withdrawn out_of_service out_of_use phased_out
    discontinued scrapped
replace: replace replaced replaces replacement superseded supersede
succeed: succeed succeeded successor follow followed
precede: precede preceded predecessor
flow: flow flows empty empties drain drains discharge discharges mouth join_river
rise: rise rises source origin originate originates
cross: cross crosses crossed spans spanned
use: use uses used user utilise utilize
supply: supply supplies supplied supplier provide provides provided provider deliver delivers
fund: fund funds funded funding finance financed finances sponsor sponsored sponsors bankroll
support: support supports supported supporter back backs backed backer backers
ally: ally allied allies alliance affiliated affiliate
oppose: oppose opposed opposes enemy fought against rival rivals
bind: bind binds bound signatory party_to
sign: sign signed signs signing signatory
award: award awarded awards win won wins winner prize receive received receives recipient
alias: nickname nicknamed nicknames alias aliases aka also_known_as known_as called abbreviation
    abbreviated acronym short_for stands_for stand_for short_form goes_by go_by the_name
    called_also other_name other_names also_call also_called also_goes_by
eponym: named_after named_for namesake eponym
capital: capital
speak: speak speaks spoken language languages
currency: currency money tender
buy: buy bought buys purchase purchased acquire acquired acquisition takeover taken_over
sell: sell sold sells seller
designate: ban banned bans outlaw outlawed proscribe proscribed proscribes prohibit prohibited
    sanction sanctioned blacklist designate designated designates designation list listed
    blacklisted classify classified
split: separate separated separates separation secede seceded leave left split splintered
    broke_away break_away breakaway offshoot faction splinter
merge: merge merged merger amalgamated
attack: attack attacked attacks assault bombed bombing
sink: sink sank sunk wreck wrecked
destroy: destroy destroyed demolished razed burned burnt
organise: organise organised organises organize organized organizes organiser organizer hosts
    hosted host
show: depict depicts depicted portray portrays portrayed picture pictures shows
hang: hang hangs hung displayed exhibited display
motto: motto slogan
mine: mine mined mines extract extracted quarried
grow: grow grows grown cultivated
climb: climb climbed climber ascended ascent scaled
rename: rename renamed renames formerly_known former_name changed_name change_name earlier_name
    previous_name old_name
remove: remove removed removes removal delisted revoked lifted take_off taken_off struck_off
    dropped
allegiance: allegiance pledge pledged loyalty swore
arrest: arrest arrested capture captured detained imprisoned jailed
branch: branch branches wing arm subsidiary subsidiaries division affiliate
elect: elect elected election appoint appointed appointment chosen
inspire: inspire inspired inspiration influenced influence
star: star starred stars cast actor actress played featuring
defeat: defeat defeated beat beaten
border: border borders bordered adjacent neighbour neighbor neighbouring neighboring adjoin
consist: consist consists comprise comprises comprised composed contain contains include includes
    made_up
connect: connect connects connected link links linked joins
cause: cause caused causes reason led_to
treat: treat treats treated treatment cure cures remedy
export: export exports exported
import: import imports imported
visit: visit visited visitors attract attracts attendance
store: store stores stored house houses housed keep keeps kept
celebrate: celebrate celebrated celebrates commemorate commemorates commemorated marks
dedicate: dedicate dedicated
restore: restore restored renovated repaired rebuilt
translate: translate translated translation translator
edit: edit edited editor edits
move: move moved moves relocate relocated transferred
train: train trained coach coached training
feed: eat eats ate feeds diet
cover: cover covers covered coverage
goal: goal goals aim aims aimed purpose seeks objective
ideology: ideology belief believes ideological
"""
"""A word with a colon opens a class; `_` joins the words of a phrase."""

CONVERSE: Final = {"@parent": "@child", "@child": "@parent"}
"""Classes that say the same of each other when the two names change places."""


PREPOSITIONAL: Final = frozenset("since from until till".split())
"""Words of a class that say so only where a time is asked for."""

ROLELESS: Final = frozenset(
    "@death @birth @located @hold @begin @end @flow @rise @close @open @alias @people".split()
)
"""Classes that mix words with and without an object, where roles say nothing."""


def relation_classes() -> Iterator[tuple[str, str]]:
    """Pairs of a word or phrase (joined by `_`) and the id of a class it belongs to."""
    name = ""
    for word in _CLASSES.split():
        if word.endswith(":"):
            name = word[:-1]
        else:
            yield word, f"@{name}"
