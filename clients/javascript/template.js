// @header

/** Where the service listens by default. */
const LOCAL = "http://127.0.0.1:8000";
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 2000;
/** Longest wait that a service may ask for. */
const LONGEST_RETRY_AFTER_MS = 10000;
/** A pause that would last until the deadline ends this long before it, for a last attempt. */
const LAST_ATTEMPT_MS = 500;

// When a request may be sent once more.
/** Sent twice it does what it does once. */
const ALWAYS = "always";
/** Only if the service surely did nothing, as it says with 429 and 503. */
const IF_NOT_PROCESSED = "if not processed";
/** Whoever asks wants to know how it is now. */
const NEVER = "never";

/** The service refused a call, or something else answered in its place. */
export class ServiceError extends Error {
  constructor(status, title, detail, errors = [], requestId = null, options = undefined) {
    const code = status === null ? "" : `${status} `;
    const request = requestId === null ? "" : ` (request ${requestId})`;
    super(`${code}${title}: ${detail}${request}`, options);
    this.name = new.target.name;
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.requestId = requestId;
  }
}

/** The service cannot be reached or cannot answer now; the same call may succeed later. */
export class ServiceUnavailable extends ServiceError {}

/** Asks the service; each method is an operation of its API. */
export class Client {
  #url;
  #key;
  #timeout;
  #deadline;
  #retries;
  #fetch;
  #sleep;
  #random;

  constructor(url = LOCAL, options = {}) {
    const { timeoutMs = 5000, deadlineMs = 15000, retries = Infinity } = options;
    this.#url = checkedUrl(url);
    this.#key = checkedKey(options.key ?? globalThis.process?.env?.FAIRCASCADE_KEY);
    for (const [name, value] of Object.entries({ timeoutMs, deadlineMs })) {
      if (!(value > 0 && value < Infinity)) {
        throw new RangeError(`${name} must be milliseconds > 0, got ${value}`);
      }
    }
    if (!(retries >= 0)) throw new RangeError(`retries must be at least 0, got ${retries}`);
    this.#timeout = timeoutMs;
    this.#deadline = deadlineMs;
    this.#retries = retries;
    this.#fetch = options.fetch ?? ((...call) => globalThis.fetch(...call));
    this.#sleep = options.sleep ?? sleep;
    this.#random = options.random ?? Math.random;
  }

  // @operations

  /**
   * Iterate over the catalogue, `page` items a request.
   *
   * Items that are removed meanwhile may hide others from it.
   */
  async *items({ page = undefined } = {}, options = undefined) {
    let offset = 0;
    let total = 1;
    while (offset < total) {
      const found = await this.listItems({ offset, limit: page }, options);
      if (found.items.length === 0) return;
      yield* found.items;
      offset += found.items.length;
      total = found.total;
    }
  }

  /** Lead a call to its end, with as many attempts as it takes. */
  async #call(request, { signal, requestId = newRequestId() } = {}) {
    const url = this.#url + request.path + queryText(request.query);
    const content = request.body === undefined ? undefined : jsonText(request.body);
    const began = now();
    const until = began + this.#deadline;
    let perhapsDone = false;
    for (let tries = 1, pause = 0; ; tries++) {
      signal?.throwIfAborted();
      if (pause > 0) await this.#sleep(pause, signal);
      signal?.throwIfAborted();
      const outcome = await this.#attempt(request, url, content, requestId, until, signal);
      if (isAnswer(outcome, request, perhapsDone)) return read(outcome, request);
      const longest = until - Math.min(LAST_ATTEMPT_MS, this.#deadline / 10) - now();
      pause = Math.min(pauseAfter(tries, outcome, this.#random), longest);
      if (!mayRepeat(request, outcome) || tries > this.#retries || longest <= 0) {
        throw failed(outcome, request, requestId, tries, now() - began);
      }
      perhapsDone ||= !isUndone(outcome);
    }
  }

  /** Return a reply, or what became of the attempt instead. */
  async #attempt(request, url, content, requestId, until, signal) {
    const headers = { Accept: request.accept ?? "application/json", "X-Request-ID": requestId };
    if (content !== undefined) headers["Content-Type"] = "application/json";
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    const silence = Math.min(this.#timeout, Math.max(until - now(), 1));
    const controller = new AbortController();
    const give = () => controller.abort(signal.reason);
    signal?.addEventListener("abort", give, { once: true });
    let timer;
    const waitFor = (ms) => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(new Error("timeout")), ms);
    };
    try {
      waitFor(silence);
      const response = await this.#fetch(url, {
        method: request.method,
        headers,
        body: content,
        redirect: "manual",
        signal: controller.signal,
      });
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      let text = "";
      for (let chunk; reader && !(chunk = await reader.read()).done; ) {
        text += decoder.decode(chunk.value, { stream: true });
        waitFor(Math.min(silence, Math.max(until - now(), 1)));
      }
      return { status: response.status, headers: response.headers, text: text + decoder.decode() };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (controller.signal.aborted) {
        const what = `no answer from ${this.#url} within ${(silence / 1000).toPrecision(3)} s`;
        return { what, unsent: false, cause: error };
      }
      const unsent = isUnsent(error);
      const why = error?.cause?.message || error?.cause?.code || error?.message;
      const what = unsent
        ? `could not connect to ${this.#url} (${why}); check that the service is running`
        : `the connection to ${this.#url} broke (${why})`;
      return { what, unsent, cause: error };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", give);
    }
  }
}

// What may be repeated

function isAnswer(outcome, request, perhapsDone) {
  if (outcome.status === undefined) return false;
  // An earlier attempt at removing it may have done so though its answer was lost.
  const gone = outcome.status === 404 && request.method === "DELETE" && perhapsDone;
  const success = outcome.status >= 200 && outcome.status < 300;
  return success || gone || (request.answers ?? []).includes(outcome.status);
}

function mayRepeat(request, outcome) {
  if (request.retry === NEVER) return false;
  if (isUndone(outcome)) return true;
  const passing = outcome.status === undefined || outcome.status === 502 || outcome.status === 504;
  return passing && request.retry === ALWAYS;
}

/** True if the service surely did nothing, and might another time. */
function isUndone(outcome) {
  if (outcome.status === undefined) return outcome.unsent;
  return outcome.status === 429 || outcome.status === 503;
}

/** True if the service may have done it though it did not say so. */
function isPerhapsDone(outcome) {
  if (outcome.status === undefined) return !outcome.unsent;
  return outcome.status >= 500 && !isUndone(outcome);
}

/** True if no connection was made. Node says so; what does not say counts as sent. */
function isUnsent(error) {
  const cause = error?.cause;
  const causes = cause?.errors?.length ? cause.errors : [cause]; // of several addresses
  return causes.every(
    (one) =>
      one?.syscall === "connect" ||
      one?.syscall === "getaddrinfo" ||
      one?.code === "UND_ERR_CONNECT_TIMEOUT",
  );
}

/** Milliseconds to wait: at random, so that clients do not come back all at once. */
function pauseAfter(tries, outcome, random) {
  const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(tries - 1, 30));
  return random() * longest + Math.min(retryAfter(outcome), LONGEST_RETRY_AFTER_MS);
}

/** The wait that the service names, as seconds or a date; 0 if none. */
function retryAfter(outcome) {
  const text = outcome.headers?.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - Date.now());
}

// Answers

function read(reply, request) {
  if (reply.status === 204 || reply.status === 404) return undefined;
  if (request.accept === "text/plain") return reply.text;
  try {
    return JSON.parse(reply.text);
  } catch (error) {
    const kind = reply.headers.get("Content-Type") ?? "a document without a type";
    const detail =
      `unexpected answer (${kind}); check the address of the service, ` +
      "and that client and service have the same version";
    throw new ServiceError(reply.status, "Unexpected Answer", detail, [], requestIdOf(reply), {
      cause: error,
    });
  }
}

function failed(outcome, request, requestId, tries, ms) {
  let more = tries > 1 ? ` (gave up after ${tries} attempts in ${(ms / 1000).toFixed(1)} s)` : "";
  if (request.retry === IF_NOT_PROCESSED && isPerhapsDone(outcome)) {
    more += "; not retried, because the slate may have been counted as shown";
  }
  if (outcome.status === undefined) {
    const options = { cause: outcome.cause };
    return new ServiceUnavailable(null, "No Answer", outcome.what + more, [], requestId, options);
  }
  const { title, detail, errors, knownAs } = problemOf(outcome);
  const kind = [502, 503, 504].includes(outcome.status) ? ServiceUnavailable : ServiceError;
  return new kind(outcome.status, title, detail + more, errors, knownAs ?? requestId);
}

/** What a problem document says (RFC 9457), or what stands in its place. */
function problemOf(reply) {
  const knownAs = requestIdOf(reply);
  try {
    const problem = JSON.parse(reply.text);
    if (typeof problem.detail !== "string") throw new TypeError("not a problem document");
    const hint =
      reply.status === 401 ? "; the client takes the key as key: ... or from $FAIRCASCADE_KEY" : "";
    return {
      title: problem.title ?? `Status ${reply.status}`,
      detail: problem.detail + hint,
      errors: problem.errors ?? [],
      knownAs: problem.request_id ?? knownAs,
    };
  } catch {
    const place = reply.headers.get("Location");
    const kind = reply.headers.get("Content-Type") ?? "a document without a type";
    const moved = reply.status === 0 || (reply.status >= 300 && reply.status < 400);
    const detail = moved
      ? `redirected to ${place ?? "another address"}; use that address`
      : `the answer (${kind}) is not the service's; is a proxy in between?`;
    return { title: `Status ${reply.status}`, detail, errors: [], knownAs };
  }
}

function requestIdOf(reply) {
  return reply.headers.get("X-Request-ID");
}

// Requests

function checkedUrl(url) {
  let parts;
  try {
    parts = new URL(url);
  } catch {
    throw new TypeError("url must be such as http://127.0.0.1:8000");
  }
  if (parts.username || parts.password) { // not shown: it may hold a password
    throw new TypeError("url must not hold a user name or a password; give the key as key: ...");
  }
  if (!["http:", "https:"].includes(parts.protocol)) {
    throw new TypeError(`url must be such as http://127.0.0.1:8000, got ${url}`);
  }
  if (parts.search || parts.hash) {
    throw new TypeError(`url must end with the host, the port or a path, got ${url}`);
  }
  return parts.href.replace(/\/+$/, "");
}

function checkedKey(key) {
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("key must consist of printable ASCII characters without spaces");
  }
  return key;
}

/** An id as a part of a path. */
function segment(name, id) {
  if (typeof id !== "string") throw new TypeError(`${name} must be text, got ${id}`);
  if (id === "" || id === "." || id === "..") { // another path, whatever way they are written
    throw new RangeError(`${name} must not be empty, "." or "..", got "${id}"`);
  }
  return encodeURIComponent(id);
}

function queryText(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

/** JSON of a body; typed arrays are lists, and numbers that JSON does not know are refused. */
function jsonText(body) {
  return JSON.stringify(body, (name, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new RangeError(`${name} must be finite, got ${value}`);
    }
    return ArrayBuffer.isView(value) && Symbol.iterator in value ? Array.from(value) : value;
  });
}

function newRequestId() {
  const word = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
  return word() + word() + word() + word();
}

function now() {
  return globalThis.performance.now();
}

function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    }
  });
}
