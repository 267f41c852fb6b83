// The client of faircascade 0.1.0. MIT licence.
// Made by generate.py from the service's OpenAPI document and template.js: change those.

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

  /**
   * Rank items for a user.
   *
   * Send `impression_id` back with the feedback. A slate without feedback teaches nothing, but
   * still
   * counts as exposure. After a 503 nothing was counted, so ask again; after a 504 the slate may
   * have been counted. A slate for which nobody waits any more is not made.
   */
  async recommend(body, options) {
    return this.#call(
      {
        method: "POST",
        path: "/v1/recommendations",
        body,
        retry: IF_NOT_PROCESSED,
      },
      options,
    );
  }

  /**
   * Rank items for many users at once, which is much faster than one by one.
   *
   * A batch that breaks a rule of its schema is refused as a whole. Beyond that each request
   * succeeds or fails by itself. After a 503 no slate was counted, after a 504 some may have been.
   */
  async recommendMany(body, options) {
    return this.#call(
      {
        method: "POST",
        path: "/v1/recommendations/batch",
        body,
        retry: IF_NOT_PROCESSED,
      },
      options,
    );
  }

  /**
   * Report what a user did with a slate: which position was clicked, several, or none.
   *
   * Clicks are given in one form: `clicked_position`, `clicked_positions` or `clicked_item`.
   *
   * If the reply was lost, send the same feedback again: it is learned once and gets the same
   * receipt. A different answer for the same impression is a conflict.
   */
  async learn(body, options) {
    return this.#call(
      {
        method: "POST",
        path: "/v1/feedback",
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Report what users did with many slates.
   *
   * A batch that breaks a rule of its schema is refused as a whole. Beyond that each feedback is
   * learned or refused by itself.
   */
  async learnMany(body, options) {
    return this.#call(
      {
        method: "POST",
        path: "/v1/feedback/batch",
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return the items that can be recommended, some at a time. */
  async listItems(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/items",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Add items, or give existing ones new features; all of them or, on an error, none.
   *
   * Other fields that are left out stay as they were; an empty group or supplier removes the label.
   */
  async putItems(body, options) {
    return this.#call(
      {
        method: "POST",
        path: "/v1/items",
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return an item of the catalogue. */
  async getItem(item, options) {
    return this.#call(
      {
        method: "GET",
        path: `/v1/items/${segment("item", item)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Add an item, or give it new features.
   *
   * Other fields that are left out stay as they were; an empty group or supplier removes the label.
   * An item that was removed comes back with its exposure, and nothing else of its old state.
   */
  async putItem(item, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/items/${segment("item", item)}`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Remove an item from the catalogue. Slates that show it can still be answered. */
  async removeItem(item, options) {
    return this.#call(
      {
        method: "DELETE",
        path: `/v1/items/${segment("item", item)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return what the service knows about a user: what was learned, and the newest impressions. */
  async getUser(user, options) {
    return this.#call(
      {
        method: "GET",
        path: `/v1/users/${segment("user", user)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Forget what was learned of a user, the impressions and the answers.
   *
   * Counts of exposure stay: they do not say who saw an item.
   */
  async forgetUser(user, options) {
    return this.#call(
      {
        method: "DELETE",
        path: `/v1/users/${segment("user", user)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Return how exposure was shared in a window, and who got too much or too little of it.
   *
   * It names the most exposed groups and suppliers; all of them are under `/v1/exposure/items`.
   */
  async getExposure(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/exposure",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return the exposure of every item, group or supplier in a window, some at a time. */
  async listItemExposure(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/exposure/items",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return clicks and fairness in each step of a window. */
  async getExposureHistory(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/exposure/history",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return items whose ids begin with a text, with what exposure they had in a window. */
  async findItems(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/exposure/find",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return the exposure of a whole catalogue, or the time lines, for other programs. */
  async exportExposure(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/exposure/export",
        query,
        retry: ALWAYS,
        accept: "text/csv",
      },
      options,
    );
  }

  /** Return which policies there are, which versions they had, and what is served. */
  async listPolicies(options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/policies",
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return the policy of a name. */
  async getNamedPolicy(name, options) {
    return this.#call(
      {
        method: "GET",
        path: `/v1/policies/${segment("name", name)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Give a name another policy, or begin a new name, which nobody is served yet.
   *
   * The versions before stay, so that one can go back. The same policy again changes nothing.
   */
  async putPolicy(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/policies/${segment("name", name)}`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Remove a policy, unless it is `default` or in an experiment. Its slates can be answered. */
  async removePolicy(name, options) {
    return this.#call(
      {
        method: "DELETE",
        path: `/v1/policies/${segment("name", name)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Serve a version that the name had, or that another name has, with exactly what it knew.
   *
   * What was learned since stays with the version that is left, unless both share what they know.
   */
  async chooseVersion(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/policies/${segment("name", name)}/version`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return what the slates of a policy in the shadow have in common with those of users. */
  async getShadow(name, options) {
    return this.#call(
      {
        method: "GET",
        path: `/v1/policies/${segment("name", name)}/shadow`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Let a policy rank for a share of the users of other policies; nobody sees these slates.
   *
   * Users wait for it, too. If it fails, they do not notice.
   */
  async putShadow(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/policies/${segment("name", name)}/shadow`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return whether the kill switch is on. */
  async getKillSwitch(options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/kill-switch",
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Serve everybody the most popular items, or random ones; null serves policies again.
   *
   * Experiments and shadows rest meanwhile; feedback goes on teaching the policies.
   */
  async putKillSwitch(body, options) {
    return this.#call(
      {
        method: "PUT",
        path: "/v1/kill-switch",
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return which experiments there are, and which there were: the last 20. */
  async listExperiments(options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/experiments",
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Return arms, differences and verdicts. Look as often as you like: intervals hold at all looks
   * together.
   *
   * They appear some seconds after there are enough users, and begin with the counts of that moment
   * for everybody, on whichever service.
   */
  async getExperiment(name, options) {
    return this.#call(
      {
        method: "GET",
        path: `/v1/experiments/${segment("name", name)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Serve policies to shares of users and compare them; there is one experiment at a time.
   *
   * Users in no arm get the control and are not counted. The same once more changes nothing.
   */
  async beginExperiment(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/experiments/${segment("name", name)}`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** End an experiment. To serve an arm to everybody, choose its version for `default`. */
  async endExperiment(name, options) {
    return this.#call(
      {
        method: "DELETE",
        path: `/v1/experiments/${segment("name", name)}`,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Give arms other shares; those that are left out keep theirs. It is counted anew.
   *
   * No user leaves an arm that does not shrink.
   */
  async rampExperiment(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/experiments/${segment("name", name)}/shares`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Serve everybody the control and count nobody; or go on where it was stopped. */
  async pauseExperiment(name, body, options) {
    return this.#call(
      {
        method: "PUT",
        path: `/v1/experiments/${segment("name", name)}/state`,
        body,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Return how many requests came in each step of a window, and how long they took.
   *
   * All workers of this service together, since it was started.
   */
  async getTraffic(query, options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/traffic",
        query,
        retry: ALWAYS,
      },
      options,
    );
  }

  /**
   * Return whether the store can be written to, how long that takes, and how large it is.
   *
   * The store is checked at most once per second.
   */
  async getStore(options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/store",
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return what ranks the items, with its parameters. */
  async getPolicy(options) {
    return this.#call(
      {
        method: "GET",
        path: "/v1/policy",
        retry: ALWAYS,
      },
      options,
    );
  }

  /** Return counters and gauges for Prometheus. */
  async getMetrics(options) {
    return this.#call(
      {
        method: "GET",
        path: "/metrics",
        retry: ALWAYS,
        accept: "text/plain",
      },
      options,
    );
  }

  /** Check that the process answers; restart it if this fails. */
  async getHealth(options) {
    return this.#call(
      {
        method: "GET",
        path: "/healthz",
        retry: NEVER,
      },
      options,
    );
  }

  /**
   * Check what recommending needs; send requests elsewhere while this fails.
   *
   * The store is checked at most once per second.
   */
  async getReadiness(options) {
    return this.#call(
      {
        method: "GET",
        path: "/readyz",
        retry: NEVER,
        answers: [503],
      },
      options,
    );
  }

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
