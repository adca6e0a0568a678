// What each figure means, in the glossary's words (docs/glossary.md).

import { catalogue } from "./language";

const EN = {
  total: "total: the pipeline span, from taken by the gateway to web_acked. One clock, exact.",
  ai: "AI: the AI service's own time: its waiting line and the model.",
  transport: "transport: between processes: on a wire or in a middleware.",
  overhead: "overhead: inside processes: queues, wake-ups, encoding.",
  communication: "communication: transport + overhead of each message, which is total − AI.",
  n: "n: how many messages the figure is of.",
  mean: "mean: the arithmetic mean.",
  sd: "sd: sample standard deviation (n − 1); none for fewer than two messages.",
  min: "min: the smallest value.",
  max: "max: the largest value.",
  p50: "P50: the median: half of the messages took no longer. By nearest rank.",
  p75: "P75: three quarters of the messages took no longer.",
  p90: "P90: nine of ten messages took no longer.",
  p95: "P95: 95 of 100 messages took no longer.",
  p99: "P99: 99 of 100 messages took no longer.",
  ci: "95 % interval: two-sided, by order statistics. An end that the sample can't give is missing: a P99 needs 368 messages for an upper end.",
  budget: "budget: the limits that a run is judged by. Nothing measured does not hold.",
  mean_total: "mean total: the mean of the pipeline span against its limit.",
  delivered_budget:
    "delivered, as a limit: delivered ÷ published, with what is in flight and what came before discovery.",
  ai_includes:
    "AI incl. transport: this AI service doesn't tell its own time, so its whole round trip counts as AI. With Server-Timing it would be told apart.",
  mean_communication: "mean communication: the mean of transport + overhead against its limit.",
  p99_total:
    "P99 total, as a limit: the 99th percentile of the pipeline span over what was published; a lost message takes forever.",
  delivered:
    "delivered: both services answered; the share is of what was published, without messages in flight and those before discovery.",
  verdict:
    "verdict: what is said on replacing HTTP. One run compares nothing, so it says INCONCLUSIVE, or KEEP where there is too little to gain.",
  lost: "lost: published and not delivered, for any named reason; those in flight aren't lost.",
  unstable:
    "unstable: utilisation surely at or above 1, or waiting that grows. Percentiles then tell how long the run was, and are left out.",
  utilisation: "utilisation: arrival rate × mean time in a worker ÷ workers.",
  slope: "waiting slope: how fast waiting grew, for each second of the run.",
  half_width: "half-width: half of the interval that two clocks leave; 0: exact.",
  rate: "rate: messages a second.",
  window:
    "window: figures are of the messages taken in this stretch of time; the ledger counts since the start.",
  robot: "robot: a publisher of messages, by the robot_id of their header.",
  lane: "lane: one condition under measurement: topic, QoS, link and payload. All figures are per lane.",
  qos: "QoS: how DDS hands messages over. RELIABLE sends again what was lost, BEST_EFFORT doesn't.",
  link: "link: a request/response transport to a service.",
  offset: "offset: far clock − near clock, always an interval; shown as middle ± half-width.",
  drift: "drift: how fast the far clock gains on the near one, as an interval in ppm.",
  exchanges: "exchanges: pairs of readings that the relation of two clocks rests on.",
  probe: "shadow probe: a request over another link to a service's echo, beside the messages.",
  change:
    "change: of a link against the one in use, within a round: cost − cost. Negative: it saves time.",
  cost: "cost: of a link in a round of probes: connection and round trips, without the services' own time.",
  trace: "trace id: 16 random bytes, given at the take; the one of traceparent.",
  waterfall:
    "Each leg of one message's way from taken to web_acked. Hatched: what two clocks leave open.",
  course:
    "course: a lane's messages by the time of their takes, with what was lost. A dot can be clicked: its slowest message is shown.",
  ecdf: "distribution: the share of messages that took at most so long.",
  histogram: "distribution: how many messages took about so long, on an axis of logarithms.",
  ledger: "ledger: the account of what became of every published message of a lane.",
  published: "published: handed to DDS by the robots, as far as the source knows.",
  taken: "taken: taken from DDS by the gateway, in this window.",
  painted: "painted: stamped in the first task after the frame that shows the message.",
  pushed: "push: frame sent → received by the page, across two clocks: an interval.",
  clock_step:
    "resolution: the smallest step of this page's clock; push and paint can't be known better.",
  event: "event: something that you should know, told when it happened.",
  measured: "measured run: messages from one click to the next, with a report of their own.",
  pause: "Stops what is shown. Figures keep coming and nothing is lost; the live line goes on.",
  resolved:
    "resolved: half-width ≤ the larger of 10 % of the leg's P50 and 0.1 ms. Of a leg that isn't, read the interval.",
  class: "class: what a leg's time was spent on.",
  leg: "leg: the time between two consecutive hops.",
  before_discovery: "lost before discovery: published before the gateway was matched.",
} as const;

type Term = keyof typeof EN;

/** What can be explained. */
export type { Term };

const KO: Readonly<Record<Term, string>> = {
  total: "전체(total): 게이트웨이가 받은 때(taken)부터 web_acked까지. 시계가 하나라서 정확합니다.",
  ai: "AI: AI 서비스 자체의 시간. 대기 줄과 모델입니다.",
  transport: "전송(transport): 프로세스 사이. 회선이나 미들웨어에서 쓴 시간입니다.",
  overhead: "오버헤드(overhead): 프로세스 안. 대기열, 깨어남, 변환입니다.",
  communication: "통신(communication): 메시지마다 전송 + 오버헤드, 곧 전체 − AI입니다.",
  n: "n: 이 수치에 쓰인 메시지 수입니다.",
  mean: "평균: 산술 평균입니다.",
  sd: "표준편차: 표본 표준편차(n − 1). 메시지가 둘보다 적으면 없습니다.",
  min: "최솟값입니다.",
  max: "최댓값입니다.",
  p50: "P50: 중앙값. 메시지의 절반은 이보다 오래 걸리지 않았습니다.",
  p75: "P75: 메시지 네 개 중 세 개는 이보다 오래 걸리지 않았습니다.",
  p90: "P90: 메시지 열 개 중 아홉 개는 이보다 오래 걸리지 않았습니다.",
  p95: "P95: 메시지 100개 중 95개는 이보다 오래 걸리지 않았습니다.",
  p99: "P99: 메시지 100개 중 99개는 이보다 오래 걸리지 않았습니다.",
  ci: "95 % 신뢰구간: 순서 통계량에 의한 양측 신뢰구간. 표본이 줄 수 없는 끝은 비어 있습니다. P99의 상한에는 메시지 368개가 필요합니다.",
  budget: "예산(budget): 실행을 판단하는 한도. 측정된 것이 없으면 지킨 것이 아닙니다.",
  mean_total: "평균 전체: 파이프라인 시간의 평균과 그 한도입니다.",
  delivered_budget:
    "전달 비율(한도): 전달 ÷ 발행. 처리 중인 것과 디스커버리 전인 것도 발행에 들어갑니다.",
  ai_includes:
    "AI (전송 포함): 이 AI 서비스는 자체 시간을 알려 주지 않아 왕복 전체를 AI로 셉니다. Server-Timing을 보내면 나눌 수 있습니다.",
  mean_communication: "평균 통신: 전송 + 오버헤드의 평균과 그 한도입니다.",
  p99_total:
    "P99 전체(한도): 발행된 것 기준 파이프라인 시간의 99번째 백분위수. 잃은 메시지는 무한으로 봅니다.",
  delivered:
    "전달됨: 두 서비스가 모두 응답했습니다. 비율은 발행된 것 기준이며, 처리 중이거나 디스커버리 전인 것은 뺍니다.",
  verdict:
    "판정(verdict): HTTP를 바꿔야 하는지에 대한 말. 실행 하나로는 비교가 되지 않아 판정 불가이거나, 얻을 것이 너무 적으면 유지입니다.",
  lost: "손실: 발행됐지만 전달되지 않은 것. 처리 중인 것은 손실이 아닙니다.",
  unstable:
    "불안정(unstable): 이용률이 확실히 1 이상이거나 대기가 늘어납니다. 이때 백분위수는 실행 시간만 말해 주므로 뺍니다.",
  utilisation: "이용률: 도착률 × 작업자 안의 평균 시간 ÷ 작업자 수입니다.",
  slope: "대기 기울기: 실행 1초마다 대기가 늘어난 정도입니다.",
  half_width: "반폭: 두 시계가 남기는 범위의 절반. 0이면 정확합니다.",
  rate: "빈도: 초당 메시지 수입니다.",
  window: "시간 창: 수치는 이 시간 동안 받은 메시지의 것이고, 장부는 시작부터 셉니다.",
  robot: "로봇: 헤더의 robot_id로 구분되는 발행자입니다.",
  lane: "레인(lane): 측정 조건 하나. 토픽, QoS, 링크, 크기입니다. 모든 수치는 레인별입니다.",
  qos: "QoS: DDS가 메시지를 넘기는 방식. RELIABLE은 잃은 것을 다시 보내고 BEST_EFFORT는 보내지 않습니다.",
  link: "링크: 서비스로 가는 요청/응답 전송 방식입니다.",
  offset: "시계 차이: 먼 시계 − 가까운 시계. 항상 범위이며 가운데 ± 반폭으로 보입니다.",
  drift: "흐름 차이: 먼 시계가 얼마나 빨리 가는지, ppm 범위입니다.",
  exchanges: "교환: 두 시계의 관계가 근거하는 읽기 쌍의 수입니다.",
  probe: "그림자 탐침: 메시지와 별도로, 다른 링크로 서비스의 에코에 보내는 요청입니다.",
  change: "변화: 한 회차 안에서 쓰는 링크와의 비용 차이. 음수면 시간이 줄어듭니다.",
  cost: "비용: 탐침 한 회차의 연결과 왕복 시간. 서비스 자체 시간은 뺍니다.",
  trace: "추적 id: 받을 때 붙는 임의의 16바이트. traceparent의 값입니다.",
  waterfall:
    "메시지 하나가 taken에서 web_acked까지 지나온 단계들. 빗금은 두 시계가 남기는 불확실성입니다.",
  course:
    "추이: 받은 시각별 레인의 메시지와 손실. 점을 누르면 그때 가장 느린 메시지를 보여 줍니다.",
  ecdf: "분포: 이 시간 안에 끝난 메시지의 비율입니다.",
  histogram: "분포: 대략 이만큼 걸린 메시지의 수. 로그 축입니다.",
  ledger: "장부(ledger): 레인에 발행된 모든 메시지가 어떻게 됐는지의 기록입니다.",
  published: "발행: 로봇이 DDS에 넘긴 수. 출처가 아는 만큼입니다.",
  taken: "받음: 이 시간 창에 게이트웨이가 DDS에서 받은 수입니다.",
  painted: "그려짐: 메시지를 보여 주는 프레임 뒤 첫 작업에서 찍은 시각입니다.",
  pushed: "밀어 보내기: 프레임 전송 → 페이지가 받음. 두 시계에 걸쳐 있어 범위입니다.",
  clock_step: "분해능: 이 페이지 시계의 가장 작은 걸음. 이보다 정확히는 알 수 없습니다.",
  event: "사건: 일어났을 때 알려 드리는, 알아야 할 일입니다.",
  measured: "측정 실행: 누른 때부터 다시 누를 때까지의 메시지로, 보고서가 따로 있습니다.",
  pause: "보이는 것을 멈춥니다. 수치는 계속 들어오고 잃는 것은 없으며, 실시간 줄은 계속됩니다.",
  resolved: "구분됨: 반폭이 P50의 10 %와 0.1 ms 중 큰 값 이하. 아니면 범위를 읽으십시오.",
  class: "분류: 단계의 시간을 무엇에 썼는지입니다.",
  leg: "단계(leg): 이어지는 두 지점 사이의 시간입니다.",
  before_discovery: "디스커버리 전 손실: 게이트웨이가 연결되기 전에 발행된 것입니다.",
};

/** Explains a term. */
export const terms = catalogue<Term>(EN, KO);

/** Whether that is one of them. */
export function isTerm(name: string | undefined): name is Term {
  return name !== undefined && Object.hasOwn(EN, name);
}
