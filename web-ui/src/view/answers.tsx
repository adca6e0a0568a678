// The five answers at the top: what must be seen within five seconds.

import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { clip, count, duration, durationText, NOTHING, percent } from "../format";
import type { Check, LaneView } from "../generated/wire";
import { delivery, difference, losses, pairOf, reliability, shares, used, worst } from "../judge";
import { figures, lane, lanes } from "../store";
import { answerWords as words } from "../words/answers";
import { className, decisionName, fateName, quantityName } from "../words/names";
import { isTerm, type Term } from "../words/terms";
import { Coded } from "./coded";
import { explain } from "./explain";

/** All five. */
export function Answers() {
  return (
    <section class="answers" aria-label={words("answers")} data-testid="answers">
      <Total />
      <Where />
      <Lost />
      <Qos />
      <Http />
    </section>
  );
}

type Tone = "good" | "bad" | "warn" | "plain" | "none";

interface CardProps {
  id: string;
  term: Term;
  title: string;
  tone: Tone;
  children: ComponentChildren;
}

const SIGNS: Readonly<Record<Tone, string>> = {
  good: "✓",
  bad: "✗",
  warn: "!",
  plain: "",
  none: "",
};

function Card({ id, term, title, tone, children }: CardProps) {
  return (
    <article class="panel answer-card" data-tone={tone} data-testid={`answer-${id}`}>
      <h2>
        <span class="sign" aria-hidden="true">
          {SIGNS[tone]}
        </span>
        <span {...explain(term)}>{title}</span>
      </h2>
      {children}
    </article>
  );
}

function Empty({ children }: { children: ComponentChildren }) {
  return <p class="quiet">{children}</p>;
}

const budget = computed(() => figures.value?.budget ?? null);

function Total() {
  const report = budget.value;
  const checks = report === null ? [] : worst(report);
  const looked = lane.value;
  // Nothing measured doesn't hold, but before the first message it isn't missed either.
  const early = checks.every(({ measured_value }) => measured_value === null);
  const unstable = lanes.value.find(({ stability }) => stability.unstable);
  const tone: Tone =
    unstable !== undefined
      ? "warn"
      : report === null || early
        ? "none"
        : report.passed
          ? "good"
          : "bad";
  return (
    <Card id="total" term="budget" title={words("total")} tone={tone}>
      {looked === null ? (
        <Empty>{words("none")}</Empty>
      ) : unstable === undefined && early ? (
        <Empty>{words(checks.length === 0 ? "no_budget" : "nothing_measured")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-total">
            {unstable === undefined ? <P99 of={looked} /> : words("unstable")}{" "}
            <small>
              {tone === "good" && words("holds")}
              {tone === "bad" && words("missed")}
              {unstable !== undefined && clip(unstable.name, 40)}
            </small>
          </p>
          {unstable !== undefined && (
            <p class="fine-print">{clip(unstable.stability.reason, 160)}</p>
          )}
          {unstable === undefined && <Bars checks={checks} />}
        </>
      )}
    </Card>
  );
}

function P99({ of }: { of: LaneView }) {
  const ns = of.classes["total"]?.p99_ns ?? null;
  if (ns === null) return <>{NOTHING}</>;
  const { value, unit } = duration(ns);
  return (
    <span data-testid="total-p99" data-ns={ns} data-lane={of.name}>
      <small>P99</small> {value}
      <small>&thinsp;{unit}</small>
    </span>
  );
}

function Bars({ checks }: { checks: readonly Check[] }) {
  const several = lanes.value.length > 1;
  return (
    <ul class="budget" data-testid="budget">
      {checks.map((check) => (
        <li
          key={check.quantity}
          data-testid={`budget-${check.quantity}`}
          data-passed={check.passed}
          data-lane={check.lane}
          {...explain(isTerm(check.quantity) ? check.quantity : "budget", measured(check))}
        >
          <span class="name">
            <span>
              {quantityName(check.quantity) ?? check.name}
              {several && !check.passed && <bdi> {check.lane}</bdi>}
            </span>
            <b>{value(check)}</b>
          </span>
          <BudgetBar check={check} />
        </li>
      ))}
    </ul>
  );
}

const text = (check: Check, of: number): string =>
  check.quantity === "delivered" ? `${(100 * of).toFixed(2)}\u00a0%` : durationText(of);

function value(check: Check): string {
  // What is no number is said in words: lost, unstable.
  return check.measured_value === null
    ? clip(check.measured, 16)
    : text(check, check.measured_value);
}

function measured(check: Check): string {
  const found =
    check.measured_value === null
      ? `${words("not_measured")} (${clip(check.measured, 80)})`
      : value(check);
  const limit = text(check, check.limit_value);
  return `${check.lane}: ${found} ${words(check.quantity === "delivered" ? "at_least" : "limit", { limit })}`;
}

/** How much of the limit is used, on a scale where the limit stands at four fifths. */
function BudgetBar({ check }: { check: Check }) {
  const share = used(check);
  const width = Math.min(1, (share ?? 0) * 0.8) * 100;
  return (
    <svg class="budget-bar" width="100%" height="8" aria-hidden="true">
      <rect class="room" width="100%" height="8" rx="2" />
      <rect
        class={check.passed ? "fill" : "fill over"}
        width={`${width.toFixed(2)}%`}
        height="8"
        rx="2"
      />
      <line class="limit" x1="80%" x2="80%" y1="0" y2="8" />
    </svg>
  );
}

const PARTS = ["ai", "transport", "overhead"] as const;

function Where() {
  const looked = lane.value;
  const parts = looked === null ? null : shares(looked);
  const largest = parts && PARTS.reduce((a, b) => (parts[b] > parts[a] ? b : a));
  return (
    <Card id="where" term="class" title={words("where")} tone={parts === null ? "none" : "plain"}>
      {looked === null || parts === null || largest === null ? (
        <Empty>{words("none")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-where" data-class={largest}>
            {className(largest)} {percent(parts[largest])}
          </p>
          <svg class="shares" width="100%" height="12" aria-hidden="true">
            {PARTS.map((name, i) => {
              const before = PARTS.slice(0, i).reduce((sum, one) => sum + parts[one], 0);
              return (
                <rect
                  key={name}
                  class={`leg ${name} shade0`}
                  x={`${(before * 100).toFixed(3)}%`}
                  width={`${(parts[name] * 100).toFixed(3)}%`}
                  height="12"
                />
              );
            })}
          </svg>
          <p class="fine-print">
            {PARTS.filter((name) => name !== largest).map((name) => (
              <span key={name} {...explain(name)}>
                {className(name)} {percent(parts[name])}{" "}
              </span>
            ))}
            <span class="quiet on">
              {words("of_mean", {
                total: durationText(looked.classes["total"]?.mean_ns ?? null),
              })}
            </span>
          </p>
        </>
      )}
    </Card>
  );
}

function Lost() {
  const all = lanes.value;
  const published = all.reduce((sum, { ledger }) => sum + ledger.published, 0);
  const lost = new Map<string, number>();
  for (const { ledger } of all) {
    for (const [fate, n] of losses(ledger)) lost.set(fate, (lost.get(fate) ?? 0) + n);
  }
  const sum = [...lost.values()].reduce((a, b) => a + b, 0);
  const torn = all.find(({ ledger }) => !ledger.reconciles);
  const tone: Tone = published === 0 ? "none" : sum > 0 || torn !== undefined ? "bad" : "good";
  return (
    <Card id="lost" term="lost" title={words("lost")} tone={tone}>
      {published === 0 ? (
        <Empty>{words(all.length === 0 ? "none" : "no_published")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-lost" data-count={sum}>
            {sum === 0
              ? words("nothing_lost")
              : words("lost_of", { lost: count(sum), published: count(published) })}
          </p>
          <p class="fine-print">
            {[...lost.entries()]
              .sort(([, a], [, b]) => b - a)
              .slice(0, 4)
              .map(([fate, n]) => (
                <span key={fate} class="bad">
                  {fateName(fate) ?? fate} {count(n)}{" "}
                </span>
              ))}
            {torn !== undefined && <b class="warn">{words("does_not_reconcile")} </b>}
            <span class="quiet">{words("share_delivered", { share: shareText(all) })}</span>
          </p>
        </>
      )}
    </Card>
  );
}

function shareText(all: readonly LaneView[]): string {
  const sums = all.map(({ ledger }) => delivery(ledger));
  const of = sums.reduce((sum, one) => sum + one.of, 0);
  const delivered = sums.reduce((sum, one) => sum + one.delivered, 0);
  return of > 0 ? `${((100 * delivered) / of).toFixed(2)}\u00a0%` : NOTHING;
}

function Qos() {
  const pair = pairOf(lanes.value);
  const seen = pair === null ? null : difference(...pair);
  const found = pair === null || seen === null ? [] : better(pair, seen);
  const unclear = seen !== null && Object.values(seen).every((one) => one === null);
  return (
    <Card id="qos" term="qos" title={words("qos")} tone={pair === null ? "none" : "plain"}>
      {pair === null ? (
        <Empty>{lanes.value.length === 0 ? words("none") : words("one_qos")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-qos">
            {found.length > 0 ? found.join(", ") : words(unclear ? "too_few" : "no_difference")}
          </p>
          <p class="fine-print">
            {pair.map((one) => (
              <span key={one.name}>
                <bdi>{reliability(one)}</bdi> P99{" "}
                {one.stability.unstable
                  ? words("unstable")
                  : durationText(one.classes["total"]?.p99_ns ?? null)}
                , {shareText([one])}{" "}
              </span>
            ))}
            <span class="quiet">
              <Coded text={words(found.length > 0 ? "one_run" : "proof")} />
            </span>
          </p>
        </>
      )}
    </Card>
  );
}

/** What the intervals show, in sentences. */
function better([a, b]: [LaneView, LaneView], seen: ReturnType<typeof difference>): string[] {
  const name = (one: LaneView): string => reliability(one) ?? one.name;
  const said: string[] = [];
  if (seen.delivered === "above") said.push(words("delivers_more", { lane: name(a) }));
  if (seen.delivered === "below") said.push(words("delivers_more", { lane: name(b) }));
  const faster = seen.p99 === "below" || seen.p99 === "above" ? seen.p99 : seen.p50;
  const key = faster === seen.p99 ? "faster_p99" : "faster_p50";
  if (faster === "below") said.push(words(key, { lane: name(a) }));
  if (faster === "above") said.push(words(key, { lane: name(b) }));
  return said;
}

const verdict = computed(() => figures.value?.verdict ?? null);
const DECISIONS = ["SWITCH", "KEEP", "INCONCLUSIVE"] as const;
const TONES = { SWITCH: "bad", KEEP: "good", INCONCLUSIVE: "warn" } as const;

function Http() {
  const said = verdict.value;
  const decision = DECISIONS.find((name) => name === said?.decision);
  return (
    <Card
      id="http"
      term="verdict"
      title={words("http")}
      tone={decision === undefined ? "none" : TONES[decision]}
    >
      {said === null ? (
        <Empty>{words(lanes.value.length === 0 ? "none" : "no_verdict")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="verdict" data-decision={said.decision}>
            {decisionName(said.decision) ?? clip(said.decision, 40)}
          </p>
          <p class="fine-print">
            {decision !== undefined && (
              <b data-testid="certainty">
                <Coded text={words(`certainty_${decision}`)} />{" "}
              </b>
            )}
            <span
              class="quiet"
              data-testid="verdict-reason"
              data-explain="verdict"
              data-more={said.reason}
            >
              <Coded text={clip(said.reason, 400)} />
            </span>
          </p>
        </>
      )}
    </Card>
  );
}
