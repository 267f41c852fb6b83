// @header

/** How patient a client is, and what it says of itself. */
export interface ClientOptions {
  /** The API key; $FAIRCASCADE_KEY by default, where there is an environment. */
  key?: string;
  /** How long to wait for the service to say something, in milliseconds; 5,000 by default. */
  timeoutMs?: number;
  /** When to give up, pauses and attempts taken together; 15,000 by default. */
  deadlineMs?: number;
  /** How often to try again at most; as often as there is time for by default. */
  retries?: number;
  /** Another `fetch`. */
  fetch?: typeof fetch;
  /** Another way to wait before an attempt. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A number in [0, 1), which pauses are drawn from. */
  random?: () => number;
}

/** What a single call may say. */
export interface CallOptions {
  /** Ends the call, pauses included. */
  signal?: AbortSignal;
  /** Under which the service's log has the call; the same in all attempts. */
  requestId?: string;
}

/** The service refused a call, or something else answered in its place. */
export class ServiceError extends Error {
  /** Of the HTTP answer; null if there was none. */
  readonly status: number | null;
  readonly title: string;
  /** What is wrong, in one line. */
  readonly detail: string;
  /** One for each field that is wrong, if the service named any. */
  readonly errors: FieldError[];
  /** Under which the service's log has the call. */
  readonly requestId: string | null;
}

/** The service cannot be reached or cannot answer now; the same call may succeed later. */
export class ServiceUnavailable extends ServiceError {}

// @types

/**
 * Asks the service; each method is an operation of its API.
 *
 * Calls that do the same when sent twice are repeated if the service cannot be reached or cannot
 * answer now, until `deadlineMs`. A recommendation, which is counted as shown, is repeated only if
 * it surely was not: if the service could not be reached, or answered 503 or 429. What does not
 * succeed throws a `ServiceError`.
 */
export class Client {
  constructor(url?: string, options?: ClientOptions);

  // @operations

  /**
   * Iterate over the catalogue, `page` items a request.
   *
   * Items that are removed meanwhile may hide others from it.
   */
  items(query?: { page?: number }, options?: CallOptions): AsyncGenerator<Item, void, void>;
}
