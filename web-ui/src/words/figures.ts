// Words around figures.

import { catalogue } from "./language";

export const figureWords = catalogue(
  {
    no_upper: "no upper bound at n\u00a0=\u00a0{n}",
    characters: "({n} characters)",
    seconds: "{s}\u00a0s",
    minutes: "{m}\u00a0min {s}\u00a0s",
    hours: "{h}\u00a0h {m}\u00a0min",
    exact: "exact",
    unresolved: "not resolved",
    lost: "lost",
  },
  {
    no_upper: "n\u00a0=\u00a0{n}에서는 상한 없음",
    characters: "({n}자)",
    seconds: "{s}초",
    minutes: "{m}분 {s}초",
    hours: "{h}시간 {m}분",
    exact: "정확",
    unresolved: "구분 안 됨",
    lost: "손실",
  },
);
