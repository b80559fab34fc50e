"""The papers' rules and a short way to their plans."""

from tyrex.plan import RulePlan, RuleSetPlan, plan_rules
from tyrex.tesla import check_text

MINUTE = 60_000_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

R1 = """
Rule R1
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and each Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and measuredTemp=Temp.value
"""
R5 = """
Rule R5
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and 45 < $t=Avg(Temp(area=$a).value within 5 min from Smoke)
where area=Smoke.area and measuredTemp=$t
"""
R6 = """
Rule R6a
define NotIncrTemp(area: string)
from Temp(area=$a and value=$t) as T1 and
     last Temp(area=$a and value>=$t) as T2 within 5 min from T1 and
     not Temp(area=$a) between T2 and T1
where area=T1.area

Rule R6b
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and
     not NotIncrTemp(area=$a) within 5 min from Smoke and
     Count(Temp(area=$a) within 5 min from Smoke) >= 10
where area=Smoke.area and measuredTemp=Avg(Temp(area=$a).value within 5 min from Smoke)

Rule R6c
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and
     last NotIncrTemp(area=$a) as N within 5 min from Smoke and
     Count(Temp(area=$a) between Smoke and N) >= 10
where area=Smoke.area and measuredTemp=Avg(Temp(area=$a).value between Smoke and N)
"""
R7 = """
Rule R7
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and
     each Temp(area=$a and value>45) within 5 min from Smoke and
     each Wind(area=$a and speed>20) within 5 min from Smoke and
     not Rain(area=$a) between Smoke and Wind
where area=Smoke.area and measuredTemp=Temp.value
"""
R = """
Rule R
define CE()
from A(Va > 1)
     and each B(Vb > 2) within 2 min from A
     and each C(Vc < 3) within 4 min from A
     and each D(Vd = 5) within 4 min from B
     and D within 5 min from C
     and each E() within 3 min from B
"""
ITERATION = """
define RepA(Times, Val) from A() where Times = 1 and Val = A.Val
define RepA(Times, Val)
from A($x) and last RepA(Val <= $x) within 3min from A
where Times = RepA.Times + 1 and Val = $x
consuming RepA
define B(Times) from RepA() where Times = RepA.Times
"""
PERIODIC = """
define AvgTemp(Val: float) from Timer(H = 9, M = 00, D = Friday)
where Val = Avg(Temp().Value) within 5min from Timer
"""
DEADLINE = """
define NoAnswer(case: string)
from 14 days after Offer(case = $c and amount > 1000) as O and
     not Reply(case = $c) between O and Timer and
     last Login(case = $c) within 3 days from O
where case = $c
consuming O
"""
JOURNEY = """
Rule Journey
define Journey(passenger: string, minutes: float)
from Arrival(passenger=$p and airport in ("FCO", "MXP") and delay_minutes > 45) as Land and
     last Departure(passenger=$p and airport != "FCO" and scheduled_gate != "<unknown & more>" and seats <= 3)
       as TakeOff within 14 h from Land and
     2-last Boarding(passenger=$p and gate >= 10 and not (priority = true or staff = true))
       within 2 h from TakeOff and
     first Security(passenger=$p and waiting * 60 + 30 > 1800 and lane = "lane seventeen, northern wing")
       as Check within 3 h from Boarding and
     each CheckIn(passenger=$p, bags > 0, weight=$w) within 12 h from Check and
     last Booking(passenger=$p and price < 1000.5 and class in ("economy", "premium economy", "business"))
       within 30 days from CheckIn and
     not Cancellation(passenger=$p and reason != "weather") between Booking and Land and
     not Rebooking(passenger = $p and bags > $w) within 2 days from TakeOff and
     Max(Security(lane = "x").waiting) between Check and Land > 10
where passenger=$p and minutes = Land.delay_minutes + Count(Boarding(gate = 4)) within 3 h from Land
consuming Booking, CheckIn
"""
CROSSED = """
Rule Crossed
define X()
from A(k = $k) and
     each B(v = $v and k = $k) within 5 min from A and
     each C(v > $v and k = $k) within 4 min from A and
     last D(v = $v and k != $k) within 1 h from C and
     first Eye(w = $w and v = $v) within 2 h from B and
     D within 3 h from Eye and
     each F(w = $w) within 10 s from D and
     each G(x > 1) as E2 within 5 min from B and
     not Rain(v = $v and w < $w) between F and A and
     not Rain() within 5 min from Eye and
     F within 2 h from A
"""
EVERY_TEXT = {
    "R1": R1,
    "R5": R5,
    "R6": R6,
    "R7": R7,
    "R": R,
    "iteration": ITERATION,
    "periodic": PERIODIC,
    "deadline": DEADLINE,
    "journey": JOURNEY,
    "crossed": CROSSED,
}


def plan_all(text: str) -> RuleSetPlan:
    """The plan of all rules of a text."""
    return plan_rules(check_text(text))


def plan_one(text: str) -> RulePlan:
    """The plan of the only rule of a text."""
    (rule,) = plan_all(text).rules
    return rule


def names(plan: RulePlan, events: tuple[int, ...]) -> list[str]:
    """What events are called in their rule."""
    return [plan.names[event] for event in events]
