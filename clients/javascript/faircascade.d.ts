// The client of faircascade 0.1.0. MIT licence.
// Made by generate.py from the service's OpenAPI document and template.d.ts: change those.

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

export interface Change {
  /** ISO 8601. */
  time: string;
  /** What an operator did. */
  text: string;
}

export interface Comparison {
  /** `same`: no difference that matters. `open`: not known yet. */
  answer: "more" | "less" | "same" | "open";
  /** The arm less the control. */
  value: number | null;
  /** Null before there are enough users. */
  low: number | null;
  high: number | null;
  /** The same in percent of the control's value. */
  value_percent: number | null;
  low_percent: number | null;
  high_percent: number | null;
  /** What that means, in words. */
  text: string;
  /** How many more slates would settle it; null if settled or not known. */
  slates_left: number | null;
}

/** All that are given must hold. An item without a value satisfies `not` and `known: false`. */
export interface Condition {
  /** It is this, or has this tag. */
  is?: string | number | boolean | null;
  /** It is, or has, one of these. */
  any?: (string | number | boolean)[] | null;
  /** It has all of these tags. */
  all?: (string | number | boolean)[] | null;
  /** It is, or has, none of these. */
  not?: string | number | boolean | (string | number | boolean)[] | null;
  at_least?: number | null;
  at_most?: number | null;
  above?: number | null;
  below?: number | null;
  /** Whether the item has a value. */
  known?: boolean | null;
}

export interface Difference {
  /** `same`: no difference that matters. `open`: not known yet. */
  answer: "more" | "less" | "same" | "open";
  /** The arm less the control. */
  value: number | null;
  /** Null before there are enough users. */
  low: number | null;
  high: number | null;
  /** The same in percent of the control's value. */
  value_percent: number | null;
  low_percent: number | null;
  high_percent: number | null;
}

/** What an experiment shows since its shares or policies were last changed. */
export interface Experiment {
  name: string;
  state: "running" | "stopped" | "ended";
  /** ISO 8601. */
  since: string;
  /** When it ended; null if it did not. */
  until: string | null;
  control: string;
  shares: Record<string, number>;
  /** ISO 8601. */
  counted_since: string;
  level: number;
  relevant: number;
  first_look: number;
  arms: Record<string, ExperimentArm>;
  /** Each arm but the control, against the control. */
  comparisons: Record<string, Record<"clicks_per_slate" | "reward_per_slate" | "equality_b" | "equality_p", Comparison>>;
  sample_ratio: SampleRatio;
  /**
   * How it went, oldest first: a new period begins with every change of shares or policies, and is
   * counted anew.
   */
  periods: ExperimentPeriod[];
  /** What operators changed meanwhile, oldest first. */
  changes: Change[];
}

export interface ExperimentArm {
  /** Users with a slate. */
  users: number;
  slates: number;
  /** Slates with feedback. */
  answers: number;
  /** Answers per slate. */
  answered_share: number | null;
  clicks: number;
  clicks_per_slate: Interval;
  /** What answers are worth; as many as clicks unless rewards are graded. */
  reward_per_slate: Interval;
  /** 1 - Gini of appearances; null in catalogues of more than 10,000 items. */
  equality_b: Interval;
  /** The same weighed by position. */
  equality_p: Interval;
}

export interface ExperimentBody {
  /** Share of all users by name of a policy, in multiples of 0.0001. */
  shares: Record<string, number>;
  /**
   * The arm that others are compared with, and that everybody outside gets. "default" by default.
   */
  control?: string;
  /** With which probability all intervals hold. 0.95 by default. */
  level?: number;
  /** Smallest difference that matters, as a share of the control's value. 0.03 by default. */
  relevant?: number;
  /**
   * Slates before the first interval: a third of what it is thought to take makes later intervals
   * narrower. 0 by default.
   */
  first_look?: number;
}

export interface ExperimentLook {
  /** ISO 8601. */
  time: string;
  slates: number;
  mismatch: boolean;
  comparisons: Record<string, Record<"clicks_per_slate" | "reward_per_slate" | "equality_b" | "equality_p", Difference>>;
}

export interface ExperimentName {
  name: string;
  state: "running" | "stopped" | "ended";
  /** ISO 8601. */
  since: string;
  until: string | null;
}

export interface ExperimentPeriod {
  /** ISO 8601. */
  since: string;
  shares: Record<string, number>;
  /** Oldest first; the older, the fewer. */
  looks: ExperimentLook[];
}

export interface Experiments {
  /** The one that runs first, then those that have ended, newest first. */
  experiments: ExperimentName[];
}

export interface Exposure {
  window: Window;
  /** Slates handed out. */
  recommendations: number;
  /** Slates with feedback, and those that were learned without: see `no_clicks`. */
  answers: number;
  /** A slate may have several. */
  clicks: number;
  /** Slates with a click. */
  clicked: number;
  /** Clicks per answered slate; null if nothing was answered. */
  click_rate: number | null;
  /** Slates that were learned as not clicked, as no feedback came in time. */
  no_clicks: number;
  /** Positions of all slates that were handed out. */
  positions: number;
  /** Of these, without those that feedback says were not shown. */
  positions_shown: number;
  /** Items in the catalogue. */
  items: number;
  /** 1 - Gini over the catalogue by notion, and the share of items shown at all. */
  fairness: Record<"equality_b" | "equality_p" | "equity_b" | "equity_p" | "coverage", number | null>;
  lorenz: LorenzCurve;
  /** Items with the largest ratios, largest first. */
  over_exposed: Recipient[];
  /** Items with the smallest ratios, smallest first. */
  under_exposed: Recipient[];
  /** The most exposed ones first; empty without such a column. */
  groups: Recipient[];
  /** The most exposed ones first; empty without such a column. */
  suppliers: Recipient[];
}

export interface FeedbackBatch {
  feedback: FeedbackRequest[];
}

export interface FeedbackReceipt {
  impression_id: string;
  /** The first click; null if there is none. */
  clicked_position: number | null;
  /** The item at that position. */
  clicked_item: string | null;
  /** All clicks, from the top. */
  clicked_positions: number[];
  /** The items at these positions. */
  clicked_items: string[];
  /**
   * Positions that were learned from, counted from the top: as many as the policy takes as seen,
   * such as those up to the first click.
   */
  shown: number;
  /** Values by position, as they were sent. */
  values: PositionValues[];
}

export interface FeedbackRequest {
  /** Impression that it is about. */
  impression_id: string;
  /** Position of the only click, 1 for the first; null for none. */
  clicked_position?: number | null;
  /** Positions of all clicks, each once, in place of `clicked_position`. */
  clicked_positions?: number[] | null;
  /** The only clicked item, in place of its position. */
  clicked_item?: string | null;
  /**
   * How many positions were shown, counted from the top, if not all: the others do not count as
   * exposure.
   */
  shown?: number | null;
  /**
   * What positions led to beyond clicks, by names that the service knows (`serve --rewards`); they
   * need not have been clicked.
   */
  values?: PositionValues[] | null;
}

export interface FeedbackResult {
  /** 200, or the status that this feedback alone would have had. */
  status: number;
  receipt?: FeedbackReceipt | null;
  problem?: Problem | null;
}

export interface FeedbackResults {
  /** In the order of the feedback. */
  results: FeedbackResult[];
}

export interface FieldError {
  /** Such as "body.k" or "query.window". */
  field: string;
  /** The rule and the value, to be read after the field. */
  message: string;
}

/** An item with its exposure, and what the catalogue says of it. */
export interface FoundItem {
  name: string;
  /** Items behind it; 1 for an item. */
  items: number;
  /** Exposure E_B: how often it was shown. */
  appearances: number;
  /** Exposure E_P: appearances weighed by position. */
  exposure: number;
  /** How often it was handed out, shown or not. */
  handed_out: number;
  /** The same weighed by position. */
  exposure_handed_out: number;
  clicks: number;
  /** Of the exposure E_P of all items in the catalogue. */
  exposure_share: number;
  /** Of the merit of all items in the catalogue. */
  merit_share: number;
  /** exposure_share / merit_share: 1 is in proportion. */
  ratio: number;
  merit: number;
  popularity: number;
  group: string | null;
  supplier: string | null;
}

export interface FoundItems {
  window: Window;
  /** Items whose ids begin so. */
  total: number;
  /** The one with this very id first, then the most exposed ones. */
  items: FoundItem[];
}

export interface History {
  window: Window;
  /** Length of a step. */
  step_seconds: number;
  /** Oldest first; the last one is not over yet. */
  moments: Moment[];
}

export interface Interval {
  value: number | null;
  /** Null before there are enough users. */
  low: number | null;
  high: number | null;
}

export interface Item {
  item: string;
  features: number[];
  merit: number;
  popularity: number;
  group?: string | null;
  supplier?: string | null;
  /** Empty if items have no topics. */
  topics?: number[];
  /** What else it is. */
  attributes?: Record<string, string | number | boolean | string[] | null>;
}

export interface ItemBatch {
  items: NewItem[];
}

export interface ItemBody {
  /** As many as those of every other item. */
  features: number[];
  /** What exposure is measured against; as before, or 1, if left out. */
  merit?: number | null;
  /** What some policies rank by; as before, or 0, if left out. */
  popularity?: number | null;
  /** "a|b" is a member of both groups, "" of none; as before if left out. */
  group?: string | null;
  /** Several with a |, none with ""; as before if left out. */
  supplier?: string | null;
  /**
   * How far it covers each topic, from 0 to 1: as many as those of every other item, left out if
   * these have none.
   */
  topics?: number[];
  /**
   * What else it is, for filters: text, numbers, true or false, lists of texts. null, an empty text
   * or an empty list removes one; those left out stay as they were.
   */
  attributes?: Record<string, string | number | boolean | string[] | null>;
}

export interface ItemExposure {
  window: Window;
  /** Items, groups or suppliers of the catalogue. */
  total: number;
  /** Some of them, in the order that was asked for. */
  items: Recipient[];
}

export interface ItemPage {
  /** Items in the catalogue. */
  total: number;
  items: Item[];
}

export interface ItemsChanged {
  /** Items that were given. */
  changed: number;
  /** Items in the catalogue now. */
  total: number;
}

export interface KillSwitch {
  /** What everybody is served, whatever else is said; null if the switch is off. */
  policy: "most-popular" | "random" | null;
}

/** All that is served, and what operators changed. */
export interface Lineup {
  /** Grows with every change. */
  number: number;
  /** What everybody is served; null if the kill switch is off. */
  kill_switch: "most-popular" | "random" | null;
  /** The experiment that runs or is stopped. */
  experiment: string | null;
  /** The first is `default`, which is served to everybody outside of experiments. */
  policies: NamedPolicy[];
  /** What is kept of a user for all policies together. */
  numbers_per_user: number;
  /** A change that would need more is refused; those of removed policies count. */
  most_numbers_per_user: number;
  /** Whether the key of this request may change any of it. */
  may_change: boolean;
  /** The last 100, oldest first. */
  changes: Change[];
}

/** Shares in [0, 1]; at most 101 points from (0, 0) to (1, 1). Null if nothing was shown. */
export interface LorenzCurve {
  /** Share of items, least exposed first. */
  items: number[];
  /** Share of appearances. */
  exposure_b: number[] | null;
  /** Share of exposure weighed by position. */
  exposure_p: number[] | null;
  /** The same in proportion to merit. */
  exposure_pm: number[] | null;
}

/** What happened in one step of a window. */
export interface Moment {
  since: string;
  until: string;
  recommendations: number;
  answers: number;
  clicks: number;
  /** Slates with a click. */
  clicked: number;
  /** Null if nothing was answered. */
  click_rate: number | null;
  /** Answers that nobody gave in time. */
  no_clicks: number;
  positions: number;
  positions_shown: number;
  /** As in the summary, of this step. */
  fairness: Record<"equality_b" | "equality_p" | "equity_b" | "equity_p" | "coverage", number | null>;
}

export interface NamedPolicy {
  name: string;
  /** The version that is served. */
  version: string;
  /** Share of users for whom it ranks without being shown. */
  shadow_share: number;
  /** Its share in the experiment, null if it is not an arm of one. */
  experiment: number | null;
  /** Oldest first. */
  versions: ServedVersion[];
}

export interface NewItem {
  /** As many as those of every other item. */
  features: number[];
  /** What exposure is measured against; as before, or 1, if left out. */
  merit?: number | null;
  /** What some policies rank by; as before, or 0, if left out. */
  popularity?: number | null;
  /** "a|b" is a member of both groups, "" of none; as before if left out. */
  group?: string | null;
  /** Several with a |, none with ""; as before if left out. */
  supplier?: string | null;
  /**
   * How far it covers each topic, from 0 to 1: as many as those of every other item, left out if
   * these have none.
   */
  topics?: number[];
  /**
   * What else it is, for filters: text, numbers, true or false, lists of texts. null, an empty text
   * or an empty list removes one; those left out stay as they were.
   */
  attributes?: Record<string, string | number | boolean | string[] | null>;
  item: string;
}

/** An item that stands at a position, whatever the policy thinks of it. */
export interface Pin {
  item: string;
  /** 1 for the first. */
  position: number;
}

export interface PolicyBody {
  /** A recipe, as `--policy` names it. */
  policy: string;
  /** As in spec files: parts are names, or objects with a `name`. */
  parameters?: Record<string, unknown>;
  /**
   * `shared`: goes on with what the version before knows of users, and teaches it. `branched`:
   * begins with that and learns by itself. `new`: knows nothing. Left out: the first of these that
   * is right. A new name follows `default`.
   */
  knowledge?: "shared" | "branched" | "new" | null;
}

export interface PolicyDescription {
  /** As on the command line. */
  name: string;
  /** As in tables and figures. */
  label: string;
  /** Changes with any parameter. */
  version: string;
  /** Those of its parts have dotted names. */
  parameters: Record<string, unknown>;
}

export interface PolicyVersion {
  name: string;
  /** Changes with any parameter of the policy. */
  version: string;
}

/** What a position led to, by names that the operator chose. */
export interface PositionValues {
  /** 1 for the first. */
  position: number;
  [name: string]: number;
}

/** An error (RFC 9457). */
export interface Problem {
  type?: string;
  /** What the status means. */
  title: string;
  status: number;
  /** What is wrong, in one line. */
  detail: string;
  /** As in `X-Request-ID`, and in the log. */
  request_id?: string | null;
  /** Every field that breaks a rule. */
  errors?: FieldError[];
}

export interface RankedItem {
  item: string;
  /** What the policy ranked it by; null for an item that is pinned. */
  score: number | null;
}

export interface Readiness {
  status: "ready" | "not ready";
  /** "ok", or what is wrong. */
  checks: Record<string, string>;
}

/** An item, a group or a supplier, and what exposure it had. */
export interface Recipient {
  name: string;
  /** Items behind it; 1 for an item. */
  items: number;
  /** Exposure E_B: how often it was shown. */
  appearances: number;
  /** Exposure E_P: appearances weighed by position. */
  exposure: number;
  /** How often it was handed out, shown or not. */
  handed_out: number;
  /** The same weighed by position. */
  exposure_handed_out: number;
  clicks: number;
  /** Of the exposure E_P of all items in the catalogue. */
  exposure_share: number;
  /** Of the merit of all items in the catalogue. */
  merit_share: number;
  /** exposure_share / merit_share: 1 is in proportion. */
  ratio: number;
}

export interface Recommendation {
  /** Send it back with the feedback. */
  impression_id: string;
  user: string;
  /** Best first: position 1 is the first. */
  items: RankedItem[];
  policy: PolicyVersion;
}

export interface RecommendationBatch {
  requests: RecommendationRequest[];
}

export interface RecommendationRequest {
  /** Whom the slate is for; an unknown user starts cold. */
  user: string;
  /** Length of the slate; shorter if fewer items are left. 10 by default. */
  k?: number;
  /** Choose among these items only; those not in the catalogue are ignored. */
  candidates?: string[] | null;
  /** Items to leave out; those not in the catalogue are ignored. */
  exclude?: string[];
  /**
   * Conditions on attributes, `group`, `supplier`, `merit` and `popularity`, all of which must
   * hold: a value, or an object with `is`, `any`, `all`, `not`, `at_least`, `at_most`, `above`,
   * `below` or `known`.
   */
  where?: Record<string, string | number | boolean | Condition> | null;
  /**
   * The most items of each supplier, or of each group. Items are taken in the order of the policy;
   * one that would be too many is passed over.
   */
  at_most?: Partial<Record<"group" | "supplier", number>>;
  /**
   * Items that stand at positions of the slate, the others being ranked around them. Those that are
   * not in the catalogue, or that `where` or `exclude` rule out, are ignored; `candidates` say
   * nothing about them.
   */
  pinned?: Pin[];
  /**
   * What the user is, such as country and device, in few different values. With `--cold-start`, a
   * user of whom little is known begins with what users with these labels have taught; without,
   * they are ignored.
   */
  user_labels?: Record<string, string>;
}

export interface RecommendationResult {
  /** 200, or the status that this request alone would have had. */
  status: number;
  recommendation?: Recommendation | null;
  problem?: Problem | null;
}

export interface RecommendationResults {
  /** In the order of the requests. */
  results: RecommendationResult[];
}

export interface SampleRatio {
  users: Record<string, number>;
  /** Planned shares of these users. */
  planned: Record<string, number>;
  /** Of any look, however many there are. */
  p_value: number;
  /** True if users cannot have been divided as planned. */
  mismatch: boolean;
  text: string;
}

/** Within how many seconds answers came. */
export interface Seconds {
  /** Half of them. */
  p50: number;
  /** 99% of them. */
  p99: number;
}

export interface ServedVersion {
  /** Changes with any parameter, and with what it knows. */
  id: string;
  /** The recipe, as on the command line. */
  policy: string;
  /** As in tables and figures. */
  label: string;
  /** Those of its parts have dotted names. */
  parameters: Record<string, unknown>;
  /** ISO 8601. */
  since: string;
  /**
   * How it began to know users: `shared` with the version before, `branched` from what that knew,
   * or `new`.
   */
  knowledge: "shared" | "branched" | "new";
  /**
   * Where what it knows is kept: versions with the same number share that; null if it needs to know
   * nothing.
   */
  model: number | null;
  /** Whether it is the one that is served. */
  current: boolean;
}

/** What a policy would have shown, next to what was shown in its place. */
export interface Shadow {
  /** Share of users for whom it ranks. */
  share: number;
  /** Slates that its present version ranked. */
  slates: number;
  /** Share of the items of its slates that were shown in them, at any position. */
  common: number | null;
  /** Of the slates that users got. */
  shown: ShadowExposure;
  /** Of the slates that they would have got. */
  shadow: ShadowExposure;
}

export interface ShadowBody {
  /** Share of users for whom it ranks as well; 0 for none. */
  share: number;
}

export interface ShadowExposure {
  /** 1 - Gini of appearances; null if unknown. */
  equality_b: number | null;
  /** The same weighed by position. */
  equality_p: number | null;
}

export interface SharesBody {
  /** Share of all users by name of a policy, in multiples of 0.0001. */
  shares: Record<string, number>;
}

export interface StateBody {
  /** `stopped` serves everybody the control and counts nobody. */
  state: "running" | "stopped";
}

export interface Status {
  status: "ok";
}

export interface StoreHealth {
  /** As the address of the store begins. */
  kind: string;
  /** "ok", or what is wrong. */
  status: string;
  /** That a write took; null if it failed. */
  seconds: number | null;
  /** Size; null if the store cannot tell. */
  data_bytes: number | null;
  /** Size of what is written ahead (SQLite) or of the append-only file (Redis). */
  log_bytes: number | null;
  /** For how long events may not have been counted. */
  counts_behind_seconds: number;
  /** How acknowledged feedback could be lost, if so. */
  durability: string | null;
  /** Processes that take requests. */
  workers: number;
}

export interface Traffic {
  window: Window;
  /** Length of a step. */
  step_seconds: number;
  /** Oldest first; the last one is not over yet. */
  moments: TrafficMoment[];
}

/** The requests of one step. */
export interface TrafficMoment {
  since: string;
  until: string;
  /** Requests for slates; a batch is one. */
  recommendations: number;
  /** Requests with feedback; a batch is one. */
  feedback: number;
  /** Other requests of the API. */
  other: number;
  /** Answered with 5xx, those refused at once aside. */
  errors: number;
  /** Refused as there were too many: 429, or 503 at once. */
  refused: number;
  /** Of requests for one slate; null if there was none. */
  seconds: Seconds | null;
}

export interface User {
  user: string;
  /** Slates that the user has had. */
  recommendations: number;
  /** Answers that were learned; 0 with a policy that does not learn. */
  feedback: number;
  /** The model's estimate theta; null if the policy does not learn one. */
  preferences: number[] | null;
  /** Impressions that are kept. */
  impressions_kept: number;
  /** The newest ones. */
  impressions: UserImpression[];
}

export interface UserImpression {
  impression_id: string;
  /** When it was handed out, ISO 8601. */
  time: string;
  items: string[];
  /** Those that the request brought, if there are cohorts of them. */
  user_labels: Record<string, string>;
  answered: boolean;
  /** The first click; null without a click or an answer. */
  clicked_position: number | null;
  /** All clicks; null without an answer. */
  clicked_positions: number[] | null;
  /** Positions learned from; null without an answer. */
  shown: number | null;
  /** Values by position; none without an answer. */
  values: PositionValues[];
  /** Whether it was learned as not clicked, as no feedback came in time. */
  default: boolean;
}

export interface VersionBody {
  /** One that the name had, or another name has. */
  version: string;
}

export interface Window {
  /** all, 1h, 24h or 7d. */
  name: string;
  /** ISO 8601; null for all time before the first slate. */
  since: string | null;
  /** ISO 8601. */
  until: string;
}

/** What `listItems` may be asked for. */
export interface ListItemsQuery {
  /** How many to leave out. 0 by default. */
  offset?: number;
  /** How many to return at most. 100 by default. */
  limit?: number;
}

/** What `getExposure` may be asked for. */
export interface GetExposureQuery {
  /** Since ever, or in the last hour or days. "24h" by default. */
  window?: "all" | "1h" | "24h" | "7d";
  /** Items to name at either end, and groups and suppliers at most. 10 by default. */
  limit?: number;
}

/** What `listItemExposure` may be asked for. */
export interface ListItemExposureQuery {
  /** How many to leave out. 0 by default. */
  offset?: number;
  /** How many to return at most. 100 by default. */
  limit?: number;
  /** Since ever, or in the last hour or days. "24h" by default. */
  window?: "all" | "1h" | "24h" | "7d";
  /** Whose exposure: that of items, groups or suppliers. "item" by default. */
  by?: "item" | "group" | "supplier";
  /** Largest ratio first, smallest ratio first, or most clicks first. "over" by default. */
  order?: "over" | "under" | "clicks";
}

/** What `getExposureHistory` may be asked for. */
export interface GetExposureHistoryQuery {
  /** The last hour or days. "24h" by default. */
  window?: "1h" | "24h" | "7d";
}

/** What `findItems` may be asked for. */
export interface FindItemsQuery {
  /** How the id begins. "" by default. */
  prefix?: string;
  /** Since ever, or in the last hour or days. "24h" by default. */
  window?: "all" | "1h" | "24h" | "7d";
  /** Items to return at most. 20 by default. */
  limit?: number;
}

/** What `exportExposure` may be asked for. */
export interface ExportExposureQuery {
  /** A row for each item, group, supplier or step of the window. "item" by default. */
  by?: "item" | "group" | "supplier" | "time";
  /** Steps of 7d if `by` is time and this is all. "24h" by default. */
  window?: "all" | "1h" | "24h" | "7d";
  /** Of the table. "csv" by default. */
  format?: "csv" | "json";
}

/** What `getTraffic` may be asked for. */
export interface GetTrafficQuery {
  /** The last hour or days. "24h" by default. */
  window?: "1h" | "24h" | "7d";
}

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

  /**
   * Rank items for a user.
   *
   * Send `impression_id` back with the feedback. A slate without feedback teaches nothing, but
   * still
   * counts as exposure. After a 503 nothing was counted, so ask again; after a 504 the slate may
   * have been counted. A slate for which nobody waits any more is not made.
   */
  recommend(body: RecommendationRequest, options?: CallOptions): Promise<Recommendation>;

  /**
   * Rank items for many users at once, which is much faster than one by one.
   *
   * A batch that breaks a rule of its schema is refused as a whole. Beyond that each request
   * succeeds or fails by itself. After a 503 no slate was counted, after a 504 some may have been.
   */
  recommendMany(body: RecommendationBatch, options?: CallOptions): Promise<RecommendationResults>;

  /**
   * Report what a user did with a slate: which position was clicked, several, or none.
   *
   * Clicks are given in one form: `clicked_position`, `clicked_positions` or `clicked_item`.
   *
   * If the reply was lost, send the same feedback again: it is learned once and gets the same
   * receipt. A different answer for the same impression is a conflict.
   */
  learn(body: FeedbackRequest, options?: CallOptions): Promise<FeedbackReceipt>;

  /**
   * Report what users did with many slates.
   *
   * A batch that breaks a rule of its schema is refused as a whole. Beyond that each feedback is
   * learned or refused by itself.
   */
  learnMany(body: FeedbackBatch, options?: CallOptions): Promise<FeedbackResults>;

  /** Return the items that can be recommended, some at a time. */
  listItems(query?: ListItemsQuery, options?: CallOptions): Promise<ItemPage>;

  /**
   * Add items, or give existing ones new features; all of them or, on an error, none.
   *
   * Other fields that are left out stay as they were; an empty group or supplier removes the label.
   */
  putItems(body: ItemBatch, options?: CallOptions): Promise<ItemsChanged>;

  /**
   * Return an item of the catalogue.
   * @param item The item, percent-encoded; it may have slashes.
   */
  getItem(item: string, options?: CallOptions): Promise<Item>;

  /**
   * Add an item, or give it new features.
   *
   * Other fields that are left out stay as they were; an empty group or supplier removes the label.
   * An item that was removed comes back with its exposure, and nothing else of its old state.
   * @param item The item, percent-encoded; it may have slashes.
   */
  putItem(item: string, body: ItemBody, options?: CallOptions): Promise<Item>;

  /**
   * Remove an item from the catalogue. Slates that show it can still be answered.
   * @param item The item, percent-encoded; it may have slashes.
   */
  removeItem(item: string, options?: CallOptions): Promise<void>;

  /**
   * Return what the service knows about a user: what was learned, and the newest impressions.
   * @param user The user, percent-encoded; may have slashes.
   */
  getUser(user: string, options?: CallOptions): Promise<User>;

  /**
   * Forget what was learned of a user, the impressions and the answers.
   *
   * Counts of exposure stay: they do not say who saw an item.
   * @param user The user, percent-encoded; may have slashes.
   */
  forgetUser(user: string, options?: CallOptions): Promise<void>;

  /**
   * Return how exposure was shared in a window, and who got too much or too little of it.
   *
   * It names the most exposed groups and suppliers; all of them are under `/v1/exposure/items`.
   */
  getExposure(query?: GetExposureQuery, options?: CallOptions): Promise<Exposure>;

  /** Return the exposure of every item, group or supplier in a window, some at a time. */
  listItemExposure(query?: ListItemExposureQuery, options?: CallOptions): Promise<ItemExposure>;

  /** Return clicks and fairness in each step of a window. */
  getExposureHistory(query?: GetExposureHistoryQuery, options?: CallOptions): Promise<History>;

  /** Return items whose ids begin with a text, with what exposure they had in a window. */
  findItems(query?: FindItemsQuery, options?: CallOptions): Promise<FoundItems>;

  /** Return the exposure of a whole catalogue, or the time lines, for other programs. */
  exportExposure(query?: ExportExposureQuery, options?: CallOptions): Promise<string>;

  /** Return which policies there are, which versions they had, and what is served. */
  listPolicies(options?: CallOptions): Promise<Lineup>;

  /**
   * Return the policy of a name.
   * @param name Name of the policy, such as `default`.
   */
  getNamedPolicy(name: string, options?: CallOptions): Promise<NamedPolicy>;

  /**
   * Give a name another policy, or begin a new name, which nobody is served yet.
   *
   * The versions before stay, so that one can go back. The same policy again changes nothing.
   * @param name Name of the policy, such as `default`.
   */
  putPolicy(name: string, body: PolicyBody, options?: CallOptions): Promise<NamedPolicy>;

  /**
   * Remove a policy, unless it is `default` or in an experiment. Its slates can be answered.
   * @param name Name of the policy, such as `default`.
   */
  removePolicy(name: string, options?: CallOptions): Promise<void>;

  /**
   * Serve a version that the name had, or that another name has, with exactly what it knew.
   *
   * What was learned since stays with the version that is left, unless both share what they know.
   * @param name Name of the policy, such as `default`.
   */
  chooseVersion(name: string, body: VersionBody, options?: CallOptions): Promise<NamedPolicy>;

  /**
   * Return what the slates of a policy in the shadow have in common with those of users.
   * @param name Name of the policy, such as `default`.
   */
  getShadow(name: string, options?: CallOptions): Promise<Shadow>;

  /**
   * Let a policy rank for a share of the users of other policies; nobody sees these slates.
   *
   * Users wait for it, too. If it fails, they do not notice.
   * @param name Name of the policy, such as `default`.
   */
  putShadow(name: string, body: ShadowBody, options?: CallOptions): Promise<NamedPolicy>;

  /** Return whether the kill switch is on. */
  getKillSwitch(options?: CallOptions): Promise<KillSwitch>;

  /**
   * Serve everybody the most popular items, or random ones; null serves policies again.
   *
   * Experiments and shadows rest meanwhile; feedback goes on teaching the policies.
   */
  putKillSwitch(body: KillSwitch, options?: CallOptions): Promise<KillSwitch>;

  /** Return which experiments there are, and which there were: the last 20. */
  listExperiments(options?: CallOptions): Promise<Experiments>;

  /**
   * Return arms, differences and verdicts. Look as often as you like: intervals hold at all looks
   * together.
   *
   * They appear some seconds after there are enough users, and begin with the counts of that moment
   * for everybody, on whichever service.
   * @param name The experiment.
   */
  getExperiment(name: string, options?: CallOptions): Promise<Experiment>;

  /**
   * Serve policies to shares of users and compare them; there is one experiment at a time.
   *
   * Users in no arm get the control and are not counted. The same once more changes nothing.
   * @param name The experiment.
   */
  beginExperiment(name: string, body: ExperimentBody, options?: CallOptions): Promise<Experiment>;

  /**
   * End an experiment. To serve an arm to everybody, choose its version for `default`.
   * @param name The experiment.
   */
  endExperiment(name: string, options?: CallOptions): Promise<void>;

  /**
   * Give arms other shares; those that are left out keep theirs. It is counted anew.
   *
   * No user leaves an arm that does not shrink.
   * @param name The experiment.
   */
  rampExperiment(name: string, body: SharesBody, options?: CallOptions): Promise<Experiment>;

  /**
   * Serve everybody the control and count nobody; or go on where it was stopped.
   * @param name The experiment.
   */
  pauseExperiment(name: string, body: StateBody, options?: CallOptions): Promise<Experiment>;

  /**
   * Return how many requests came in each step of a window, and how long they took.
   *
   * All workers of this service together, since it was started.
   */
  getTraffic(query?: GetTrafficQuery, options?: CallOptions): Promise<Traffic>;

  /**
   * Return whether the store can be written to, how long that takes, and how large it is.
   *
   * The store is checked at most once per second.
   */
  getStore(options?: CallOptions): Promise<StoreHealth>;

  /** Return what ranks the items, with its parameters. */
  getPolicy(options?: CallOptions): Promise<PolicyDescription>;

  /** Return counters and gauges for Prometheus. */
  getMetrics(options?: CallOptions): Promise<string>;

  /** Check that the process answers; restart it if this fails. */
  getHealth(options?: CallOptions): Promise<Status>;

  /**
   * Check what recommending needs; send requests elsewhere while this fails.
   *
   * The store is checked at most once per second.
   */
  getReadiness(options?: CallOptions): Promise<Readiness>;

  /**
   * Iterate over the catalogue, `page` items a request.
   *
   * Items that are removed meanwhile may hide others from it.
   */
  items(query?: { page?: number }, options?: CallOptions): AsyncGenerator<Item, void, void>;
}
