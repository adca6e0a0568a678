"""Checks what the containers tell, for prove.sh: reads standard input or a file, fails with a word.

    account.py status MORE_THAN   the collector's /v1/status: both lanes delivered more, all reconciles
    account.py delivered          the smaller count of the two lanes, printed
    account.py lossy              BEST_EFFORT lost some, RELIABLE delivered them
    account.py metrics            /metrics is Prometheus' text format, and adds up
    account.py page               what the browser saw (e2e/browser/page.mjs)
    account.py another_user       the doctor's findings: matched, nothing came, whose memory it is
    account.py same_user          the doctor's findings: messages arrive
    account.py report FILE        report.json of the run: ended in order, nothing unaccounted
"""

import json
import re
import sys

GATEWAY_USER = "10001"
LANES = ("best-effort", "reliable")
FATES = (
    "lost_before_discovery",
    "lost_in_ros",
    "outcome_unknown",
    "queue_dropped",
    "undecodable",
    "abandoned",
    "delivered",
    "in_flight",
)


def check(holds, text):
    if not holds:
        sys.exit(f"account.py: {text}")


def accounted(ledger):
    failed = sum(ledger["ai_failed"].values()) + sum(ledger["web_failed"].values())
    return sum(ledger[fate] for fate in FATES) + failed


def told(name, ledger):
    parts = {fate: ledger[fate] for fate in FATES if ledger[fate]}
    for service in ("ai_failed", "web_failed"):
        if ledger[service]:
            parts[service] = sum(ledger[service].values())
    fates = ", ".join(f"{count} {fate}" for fate, count in parts.items())
    return f"= {name}: {ledger['published']} published = {fates}"


def adds_up(name, ledger):
    check(ledger["reconciles"], f"{name} doesn't reconcile: {ledger['notes']}")
    check(accounted(ledger) == ledger["published"], f"{name} doesn't add up: {ledger}")


def status(more_than):
    lanes = json.load(sys.stdin)["lanes"]
    check(set(LANES) <= set(lanes), f"lanes: {sorted(lanes)}")
    for name in LANES:
        adds_up(name, lanes[name])
        check(lanes[name]["delivered"] > more_than, f"{told(name, lanes[name])}; more is expected")
    for name in LANES:
        print(told(name, lanes[name]))


def delivered():
    lanes = json.load(sys.stdin)["lanes"]
    print(min(lanes[name]["delivered"] for name in LANES))


def lossy():
    lanes = json.load(sys.stdin)["lanes"]
    for name in LANES:
        adds_up(name, lanes[name])
    fragile, robust = (lanes[name] for name in LANES)
    lines = "\n".join(told(name, lanes[name]) for name in LANES)
    check(fragile["lost_in_ros"] >= 10, f"few losses yet: {lines}")
    check(robust["lost_in_ros"] * 5 < fragile["lost_in_ros"], f"RELIABLE lost, too: {lines}")
    check(robust["delivered"] > fragile["delivered"], f"RELIABLE delivered no more: {lines}")
    print(lines)


def metrics():
    sample = re.compile(r'^([a-z_]+)(\{(?:[a-z]+="[^"]*",?)*\})? (\S+)$')
    values, types = {}, {}
    for line in sys.stdin.read().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = sample.match(line)
            check(match, f"no line of metrics: {line}")
            family = re.sub("_(bucket|sum|count)$", "", match[1])
            check(family in types or match[1] in types, f"a metric without a type: {line}")
            values[match[1] + (match[2] or "")] = float(match[3])
    for lane in LANES:
        fates = sum(n for key, n in values.items() if key.startswith(f'hopwatch_messages{{lane="{lane}"'))
        published = values[f'hopwatch_published_total{{lane="{lane}"}}']
        check(fates == published, f"{lane}: fates are {fates}, published {published}")
        labels = f'lane="{lane}",class="total"'
        count = values[f"hopwatch_latency_seconds_count{{{labels}}}"]
        check(count == values[f'hopwatch_latency_seconds_bucket{{{labels},le="+Inf"}}'], "counts differ")
        check(count == values[f'hopwatch_delivered_total{{lane="{lane}"}}'], "not each was observed")
    print(f"= /metrics: {len(values)} values of {len(types)} metrics")


def page():
    seen = json.load(sys.stdin)
    text = json.dumps(seen)
    for name in LANES:
        check(name in text, f"the page shows no lane {name}: {text[:2000]}")
    for key in ("console_errors", "page_errors", "foreign_requests"):
        check(not seen[key], f"{key}: {seen[key]}")
    check(seen["acks"]["painted"] > 0, f"nothing was painted: {seen['acks']}")
    print(f"= the page painted {seen['acks']['painted']} messages; no errors, nothing from elsewhere")


def findings():
    told = json.load(sys.stdin)
    return {finding["name"]: finding for finding in told["findings"]}, json.dumps(told)


def another_user():
    found, text = findings()
    check("matched_no_samples" in found, f"no word on what is wrong: {text}")
    finding = found["matched_no_samples"]
    said = " ".join(finding[part] for part in ("what", "why", "todo"))
    check(finding["severity"] == "problem", said)
    for word in ("belong to user 0", f"by user {GATEWAY_USER}", "--user", "FASTDDS_BUILTIN_TRANSPORTS=UDPv4"):
        check(word in said, f"no word of {word!r}: {said}")
    print(f"= {finding['what']}\n= to do: {finding['todo']}")


def same_user():
    found, text = findings()
    check("messages_arrive" in found and "matched_no_samples" not in found, text)
    print(f"= as the robot's user: {found['messages_arrive']['what']}")


def report(file):
    with open(file, encoding="utf-8") as text:
        run = json.load(text)
    for lane in run["lanes"]:
        adds_up(lane["name"], lane["ledger"])
        check(lane["ledger"]["in_flight"] == 0, f"{lane['name']} ended with messages under way")
        print(told(lane["name"], lane["ledger"]))
    check({lane["name"] for lane in run["lanes"]} >= set(LANES), "a lane is missing")


def main():
    what, *arguments = sys.argv[1:]
    if what == "status":
        status(int(arguments[0]))
    elif what == "report":
        report(arguments[0])
    else:
        readers = [another_user, delivered, lossy, metrics, page, same_user]
        {reader.__name__: reader for reader in readers}[what]()


main()
