// Words of the wire that the page knows, as they are read. Others are shown as they came.

import { type Language, language } from "./language";

type Names = Readonly<Record<string, string>>;

/** A list of names in both languages; a name that isn't in it gives `undefined`. */
function names(en: Names, ko: Names): (name: string) => string | undefined {
  const texts: Readonly<Record<Language, Names>> = { en, ko };
  return (name) => {
    const known = texts[language.value];
    return Object.hasOwn(known, name) ? known[name] : undefined;
  };
}

export const outcomeName = names(
  {
    delivered: "delivered",
    queue_dropped: "queue full",
    undecodable: "undecodable",
    abandoned: "abandoned at stop",
  },
  {
    delivered: "전달됨",
    queue_dropped: "대기열 가득 참",
    undecodable: "해독 불가",
    abandoned: "종료로 중단",
  },
);

export const failureName = names(
  {
    unreachable: "unreachable",
    broken: "connection broken",
    timed_out: "timed out",
    refused: "refused",
    failed: "failed",
    bad_reply: "bad reply",
    not_made: "request not made",
  },
  {
    unreachable: "연결 불가",
    broken: "연결 끊김",
    timed_out: "시간 초과",
    refused: "거부됨",
    failed: "실패",
    bad_reply: "잘못된 응답",
    not_made: "요청 만들기 실패",
  },
);

export const stageName = names({ ai: "AI", web: "web" }, { ai: "AI", web: "웹" });

export const fateName = names(
  {
    published: "published",
    delivered: "delivered",
    in_flight: "in flight",
    lost_before_discovery: "lost before discovery",
    lost_in_ros: "lost in ROS",
    outcome_unknown: "outcome unknown",
    queue_dropped: "dropped by queue",
    undecodable: "undecodable",
    ai_failed: "AI failed",
    web_failed: "web failed",
    abandoned: "abandoned",
  },
  {
    published: "발행",
    delivered: "전달됨",
    in_flight: "처리 중",
    lost_before_discovery: "디스커버리 전 손실",
    lost_in_ros: "ROS에서 손실",
    outcome_unknown: "결과 모름",
    queue_dropped: "대기열에서 버림",
    undecodable: "해독 불가",
    ai_failed: "AI 실패",
    web_failed: "웹 실패",
    abandoned: "중단됨",
  },
);

export const sourceName = names(
  {
    census: "by the robots' own count",
    publication_sequence: "by DDS's publication numbers: what came after the last is unknown",
    header_sequence: "by the header's sequence: the robot's word",
    nothing: "nothing was seen",
  },
  {
    census: "로봇이 직접 센 수",
    publication_sequence: "DDS 발행 번호 기준: 마지막 번호 뒤는 알 수 없음",
    header_sequence: "헤더의 순번 기준: 로봇이 알려 준 값",
    nothing: "아무것도 보이지 않음",
  },
);

export const className = names(
  {
    ai: "AI",
    transport: "transport",
    overhead: "overhead",
    communication: "communication",
    total: "total",
  },
  { ai: "AI", transport: "전송", overhead: "오버헤드", communication: "통신", total: "전체" },
);

export const quantityName = names(
  {
    mean_total: "mean total",
    mean_communication: "mean communication",
    p99_total: "P99 total",
    delivered: "delivered",
  },
  {
    mean_total: "평균 전체",
    mean_communication: "평균 통신",
    p99_total: "P99 전체",
    delivered: "전달 비율",
  },
);

export const decisionName = names(
  { SWITCH: "SWITCH", KEEP: "KEEP", INCONCLUSIVE: "INCONCLUSIVE" },
  { SWITCH: "교체 (SWITCH)", KEEP: "유지 (KEEP)", INCONCLUSIVE: "판정 불가 (INCONCLUSIVE)" },
);

export const runStateName = names(
  { waiting: "waiting for messages", running: "running", ended: "ended" },
  { waiting: "메시지 대기 중", running: "실행 중", ended: "종료됨" },
);

export const measuredName = names(
  { running: "running", writing: "writing the report", done: "done", failed: "failed" },
  { running: "측정 중", writing: "보고서 작성 중", done: "완료", failed: "실패" },
);

export const eventName = names(
  {},
  {
    incompatible_qos: "QoS 불일치",
    incompatible_type: "타입 불일치",
    no_publisher: "발행자 없음",
    not_matched: "연결 안 됨",
    matched_no_samples: "연결됐지만 데이터 없음",
    went_silent: "조용해짐",
    silence_over: "다시 들어옴",
    message_lost: "메시지 손실",
    take_failed: "수신 실패",
    wall_clock_step: "시계가 조정됨",
    clock_peer: "시계 상대",
    bad_census: "잘못된 집계",
    other_topic: "다른 토픽",
    bad_records: "잘못된 기록",
    archive_failed: "저장 실패",
    mark: "표시",
    clock_step: "시계 건너뜀",
    drift: "시계 흐름 차이",
    constant_offset: "일정한 시계 차이",
  },
);

/** What the page itself noticed; in English it says so when it does (state.ts). */
export const noticeText = names(
  {},
  {
    dropped_for_this_page: "이 페이지가 느려서 방송기가 버린 메시지",
    out_of_order: "보이는 것보다 오래된 수치라서 뺌",
    torn_feed: "중간에서 시작한 수치라서 뺌",
    rubbish_broadcaster: "방송기의 이해할 수 없는 프레임",
    rubbish_collector: "수집기의 이해할 수 없는 프레임",
  },
);

export const legNames = names(
  {},
  {
    schedule: "일정",
    write: "쓰기",
    ros: "ROS",
    wake: "깨움",
    queue: "대기열",
    encode: "변환",
    ai_connect: "AI 연결",
    ai_retry: "AI 재시도",
    ai_request: "AI 요청",
    ai_wait: "AI 대기",
    ai_infer: "AI 추론",
    ai_resend: "AI 재전송",
    ai_reply: "AI 응답",
    ai_transport: "AI 전송",
    ai_round_trip: "AI 왕복",
    handoff: "넘김",
    web_connect: "웹 연결",
    web_retry: "웹 재시도",
    web_request: "웹 요청",
    web_handle: "웹 처리",
    web_resend: "웹 재전송",
    web_reply: "웹 응답",
    web_transport: "웹 전송",
    web_round_trip: "웹 왕복",
    fanout: "배포",
    push: "밀어 보내기",
    paint: "그리기",
  },
);

/** From where to where, or what for; in English the legs themselves know (legs.ts). */
export const legSays = names(
  {},
  {
    schedule: "intended → published: 로봇이 자기 일정보다 늦음",
    write: "published → written: publish()에서 DDS writer까지",
    ros: "written → received: DDS를 지나감",
    wake: "received → taken: 게이트웨이가 깨어나 받음",
    queue: "taken → started: 게이트웨이의 대기열",
    encode: "started → 요청 준비: 해독하고 요청을 만듦",
    ai_connect: "AI 서비스로 연결을 엶",
    ai_retry: "AI 서비스로 간 요청이 사라져 다시 보낼 때까지",
    ai_request: "AI 서비스로 가는 요청",
    ai_wait: "AI 서비스의 대기 줄",
    ai_infer: "모델",
    ai_resend: "AI 서비스의 응답이 사라져 다시 보낼 때까지",
    ai_reply: "AI 서비스에서 오는 응답",
    ai_transport: "AI 서비스 왕복에서 서비스 자체 시간을 뺀 것",
    ai_round_trip: "아무것도 알려 주지 않는 AI 서비스: 전송 포함",
    handoff: "AI의 답을 읽음 → 웹 서비스 요청 준비",
    web_connect: "웹 서비스로 연결을 엶",
    web_retry: "웹 서비스로 간 요청이 사라져 다시 보낼 때까지",
    web_request: "웹 서비스로 가는 요청",
    web_handle: "방송기 자체의 시간",
    web_resend: "웹 서비스의 응답이 사라져 다시 보낼 때까지",
    web_reply: "웹 서비스에서 오는 응답",
    web_transport: "웹 서비스 왕복에서 서비스 자체 시간을 뺀 것",
    web_round_trip: "아무것도 알려 주지 않는 웹 서비스: 왕복",
    fanout: "한 페이지를 위한 방송기의 대기열",
    push: "프레임 전송 → 브라우저 수신, 두 시계에 걸침",
    paint: "브라우저 수신 → 그려짐",
  },
);
