// When the page is drawn: what comes from the feeds at most twenty times a second, or ten where more
// comes than can be seen; what the user does in the next frame.

/** What drawing needs of a browser; tests give their own. */
export interface Screen {
  /** `performance.now()`: ms. */
  now(): number;
  /** Calls `f` in the next frame, before it is laid out and painted. */
  nextFrame(f: () => void): void;
  /** Calls `f` after `ms`. */
  later(ms: number, f: () => void): void;
}

/**
 * From one asking for a frame to the next, in ms, for what comes from the feeds. A reader sees no
 * more than that, and each frame costs the page's style, layout and paint. News that comes after a
 * quiet time of this length is drawn in the next frame.
 */
export const GAP_MS = 50;
/** The same, while more messages come than the live line could show one by one: four in 50 ms. */
export const BUSY_GAP_MS = 100;
const BUSY_PER_MS = 4 / GAP_MS;

/** Draws the page. */
export class Pace {
  private readonly screen: Screen;
  private readonly publish: () => number;
  private draws: (() => void)[] = [];
  private drawn: (() => void)[] = [];
  private gapMs = GAP_MS;
  private publishedAt = Number.NEGATIVE_INFINITY;
  private askedAt = Number.NEGATIVE_INFINITY;
  private pacedAsked = false;
  private nextAsked = false;
  private isNews = false;

  /** `publish` puts what came from the feeds where drawing finds it, and tells how many messages. */
  constructor(screen: Screen, publish: () => number) {
    this.screen = screen;
    this.publish = publish;
  }

  /** Changes that `f` makes come from a feed: they may wait for the pace. */
  news(f: () => void): void {
    const outer = this.isNews;
    this.isNews = true;
    try {
      f();
    } finally {
      this.isNews = outer;
    }
  }

  /**
   * Something changed on the page, and `draw` puts it there: what the user did in the next frame,
   * unless Preact has a drawing waiting already, which then takes it along.
   */
  draw(draw: () => void): void {
    this.draws.push(draw);
    if (this.isNews) {
      this.askPaced();
    } else if (!this.nextAsked) {
      this.nextAsked = true;
      this.screen.nextFrame(() => {
        this.nextAsked = false;
        this.drawAll();
      });
    }
  }

  /** Something came that publishing will bring: draws it at the pace. */
  came(): void {
    this.askPaced();
  }

  /** Calls `f` in the next frame at the pace, once everything that came is on the page. */
  afterDrawing(f: () => void): void {
    this.drawn.push(f);
    this.askPaced();
  }

  private askPaced(): void {
    if (this.pacedAsked) return;
    this.pacedAsked = true;
    const wait = this.askedAt + this.gapMs - this.screen.now();
    if (wait > 0) this.screen.later(wait, () => this.ask());
    else this.ask();
  }

  private ask(): void {
    this.askedAt = this.screen.now();
    this.screen.nextFrame(() => {
      const drawn = this.drawn;
      this.drawn = [];
      try {
        // All in this one frame: what is published now must not wait for the frame after it.
        this.news(() => {
          const now = this.screen.now();
          const busy = this.publish() > (now - this.publishedAt) * BUSY_PER_MS;
          this.publishedAt = now;
          this.gapMs = busy ? BUSY_GAP_MS : GAP_MS;
        });
        this.drawAll();
      } finally {
        this.pacedAsked = false;
        if (this.draws.length > 0) this.askPaced();
      }
      for (const f of drawn) f();
    });
  }

  private drawAll(): void {
    const draws = this.draws;
    this.draws = [];
    for (const draw of draws) draw();
  }
}
