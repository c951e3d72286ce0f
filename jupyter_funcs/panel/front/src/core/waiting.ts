import { TIMES } from "./times";

/** What a request was refused with: one to three lines. */
export class RequestError extends Error {
  constructor(readonly lines: string[]) {
    super(lines.join("\n"));
  }
}

interface Request {
  isLate: boolean;
  timer: ReturnType<typeof setTimeout>;
  resolve: (reply: any) => void;
  reject: (error: Error) => void;
}

/** Requests without an answer yet, by number. */
export class Waiting {
  private readonly requests = new Map<number, Request>();

  /** `look` is called when a request is late, or no longer. */
  constructor(private readonly look: () => void) {}

  get size() {
    return this.requests.size;
  }

  get isLate() {
    return [...this.requests.values()].some((request) => request.isLate);
  }

  /**
   * The answer to a request; it is refused after a time limit, while nothing excuses the silence.
   */
  answer(id: number, limit: number, isExcused: () => boolean, silent: () => void): Promise<any> {
    return new Promise((resolve, reject) => {
      const expire = () => {
        if (!this.requests.has(id)) return;
        if (isExcused()) {
          request.timer = setTimeout(expire, limit);
          return;
        }
        this.requests.delete(id);
        reject(new Error(`The kernel has not answered for ${limit / 1000} s.`));
        silent();
      };
      const request = { isLate: false, timer: setTimeout(expire, limit), resolve, reject };
      this.requests.set(id, request);
      setTimeout(() => {
        request.isLate = true;
        this.look();
      }, TIMES.busy);
    });
  }

  /** Hand a reply to whoever waits for it. */
  reply(message: any) {
    const request = this.take(message.re);
    if (!request) return;
    if (message.error) request.reject(new RequestError(message.error));
    else request.resolve(message);
    this.look();
  }

  /** Refuse them all. */
  fail(why: string) {
    for (const id of [...this.requests.keys()]) this.take(id)?.reject(new Error(why));
  }

  private take(id: number) {
    const request = this.requests.get(id);
    clearTimeout(request?.timer);
    this.requests.delete(id);
    return request;
  }
}
