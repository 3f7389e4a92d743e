// Reads the text form of Prometheus and derives what the status page shows.

/** Parses `/metrics`. Returns a map from a metric's name to its samples, `{labels, value}`. */
export function parse(text) {
  const samples = new Map();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
    if (!match) continue;
    const [, name, labels, value] = match;
    if (!samples.has(name)) samples.set(name, []);
    samples.get(name).push({ labels: parseLabels(labels ?? ""), value: number(value) });
  }
  return samples;
}

function parseLabels(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(/([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
  }
  return labels;
}

function number(text) {
  const infinite = { "+Inf": Infinity, Inf: Infinity, "-Inf": -Infinity }[text];
  return infinite ?? Number(text);
}

/** The sum of a metric over all its labels, or null if the server does not have it. */
export function sum(samples, name) {
  const found = samples.get(name);
  return found ? found.reduce((total, { value }) => total + value, 0) : null;
}

/** The values of a label, without repetition. */
export function labelValues(samples, name, label) {
  return [...new Set((samples.get(name) ?? []).map(({ labels }) => labels[label]).filter(Boolean))];
}

/** The cumulative buckets of a histogram, over all labels: `[[bound, count], …]` by rising bound. */
export function buckets(samples, name) {
  const counts = new Map();
  for (const { labels, value } of samples.get(`${name}_bucket`) ?? []) {
    const bound = number(labels.le);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

/**
 * The quantile `q` of what came between two states of a histogram, in its unit, or null if nothing came. Within a bucket, values
 * are taken to be spread evenly.
 */
export function quantile(q, before, after) {
  const earlier = new Map(before);
  const came = after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)]);
  const total = came.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return null;
  const rank = q * total;
  let [low, below] = [0, 0];
  for (const [bound, count] of came) {
    if (count >= rank) {
      if (bound === Infinity) return low;
      return low + (bound - low) * (count > below ? (rank - below) / (count - below) : 0);
    }
    [low, below] = [bound, count];
  }
  return low;
}

/** What the page keeps of one reading. */
export function reading(samples, at) {
  const histogram = (name) => buckets(samples, `vllm:${name}_seconds`);
  return {
    at,
    running: sum(samples, "vllm:num_requests_running"),
    waiting: sum(samples, "vllm:num_requests_waiting"),
    pages: sum(samples, "weft_pages"),
    held: sum(samples, "weft_pages_held"),
    kept: sum(samples, "weft_pages_kept"),
    cacheUse: sum(samples, "vllm:kv_cache_usage_perc"),
    steps: sum(samples, "weft_steps_total"),
    computed: sum(samples, "weft_computed_tokens_total"),
    prompt: sum(samples, "vllm:prompt_tokens_total"),
    generated: sum(samples, "vllm:generation_tokens_total"),
    queries: sum(samples, "vllm:prefix_cache_queries_total"),
    hits: sum(samples, "vllm:prefix_cache_hits_total"),
    ended: sum(samples, "vllm:request_success_total"),
    uptime: sum(samples, "weft_uptime_seconds"),
    first: histogram("time_to_first_token"),
    between: histogram("inter_token_latency"),
  };
}

/** How fast a counter grew between two readings, per second. A server that has started anew counts from zero. */
export function rate(before, after, name) {
  if (!before || after[name] === null || before[name] === null) return null;
  const grown = after[name] - before[name];
  const time = (after.at - before.at) / 1000;
  if (time <= 0 || grown < 0) return null;
  return grown / time;
}
