// Numbers over time, and what a stretch of it holds, found without looking at each of them.
"use strict";

const STEP = 8; // from one level of extremes to the next

/** The first index from `low` on whose time is not before `t`. */
function lower(time, t, low = 0, high = time.length) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (time[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As `lower`, from an index that is not far before it. */
function onwards(time, t, low) {
  let step = 1;
  let high = low;
  while (high < time.length && time[high] < t) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  return lower(time, t, low, Math.min(high, time.length));
}

/** The sums of the first of `n` amounts: of none, of one, and so on. */
function sums(n, amount) {
  const found = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) found[i + 1] = found[i] + amount(i);
  return found;
}

/** Values at times, with a pyramid of least and greatest values over them, and for means their sums
 * up to each, once they are asked for. */
class Series {
  constructor(time, value) {
    this.time = time;
    this.value = value;
    this.levels = [{least: value, greatest: value}];
    for (let n = value.length; n > STEP;) {
      const below = this.levels[this.levels.length - 1];
      n = Math.ceil(n / STEP);
      const least = new Float64Array(n);
      const greatest = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let low = Infinity;
        let high = -Infinity;
        const end = Math.min((i + 1) * STEP, below.least.length);
        for (let j = i * STEP; j < end; j++) {
          if (below.least[j] < low) low = below.least[j];
          if (below.greatest[j] > high) high = below.greatest[j];
        }
        least[i] = low;
        greatest[i] = high;
      }
      this.levels.push({least, greatest});
    }
  }

  /** Least and greatest of the values `from` to before `to`; of none Infinity and -Infinity. */
  extremes(from, to) {
    let low = Infinity;
    let high = -Infinity;
    for (let level = 0; from < to; level++) {
      const {least, greatest} = this.levels[level];
      const top = level === this.levels.length - 1;
      const take = (/** @type {number} */ i) => {
        if (least[i] < low) low = least[i];
        if (greatest[i] > high) high = greatest[i];
      };
      while (from < to && (top || from % STEP)) take(from++);
      while (from < to && to % STEP) take(--to);
      from /= STEP;
      to /= STEP;
    }
    return [low, high];
  }

  /** The same with its values above 0 alone, the others being no number. */
  positive() {
    this.above ??= new Series(
      this.time,
      this.value.map((value) => (value > 0 ? value : NaN)),
    );
    return this.above;
  }

  /** Mean of the values `from` to before `to`; null of none. */
  mean(from, to) {
    this.sum ??= sums(this.value.length, (i) => this.value[i]);
    return to > from ? (this.sum[to] - this.sum[from]) / (to - from) : null;
  }

  /** Mean over time from `from` to `to`, where a value is known and holds until the next; null where
   * none is. */
  meanOverTime(from, to) {
    const {time, value} = this;
    const known = (/** @type {number} */ i) => !Number.isNaN(value[i]);
    const held = (/** @type {number} */ i) => (known(i) ? time[i + 1] - time[i] : 0);
    this.lasted ??= sums(value.length - 1, held);
    this.area ??= sums(value.length - 1, (i) => (known(i) ? value[i] * held(i) : 0));
    const until = (/** @type {number} */ t) => {
      const last = this.before(t);
      if (last < 0) return [0, 0];
      const more = known(last) ? t - time[last] : 0;
      return [this.area[last] + (more && value[last] * more), this.lasted[last] + more];
    };
    const [[areaBefore, before], [area, all]] = [until(from), until(to)];
    return all > before ? (area - areaBefore) / (all - before) : null;
  }

  /** Index of the last one at `t` or before; -1 where there is none. */
  before(t) {
    return lower(this.time, t + 1) - 1;
  }
}

/** Amounts that grow over time, such as bytes sent, of one or several connections. */
class Growth {
  constructor(parts) {
    this.parts = parts;
  }

  /** What there was before `t`. */
  total(t) {
    let sum = 0;
    for (const {time, value} of this.parts) {
      const next = lower(time, t);
      if (next > 0) sum += value[next - 1];
    }
    return sum;
  }

  /** Increase per second from `from` to before `to`. */
  rate(from, to) {
    return ((this.total(to) - this.total(from)) / (to - from)) * 1e9;
  }
}

/** A rate that holds until the next one. */
class Held extends Series {
  /** Mean from `from` to `to`. */
  rate(from, to) {
    return this.meanOverTime(from, to);
  }

  /** The stretches in which it is the same, from `from` to `to`. */
  *stretches(from, to) {
    for (let i = Math.max(0, this.before(from)); i < this.time.length && this.time[i] < to; i++) {
      yield [Math.max(this.time[i], from), Math.min(this.time[i + 1] ?? to, to)];
    }
  }
}

/** Count, least, mean, 95 % quantile and greatest of values; null of none. The quantile lies
 * between two values where it is none of them, as in run.json. */
function summary(values) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const n = sorted.length;
  if (!n) return null;
  const rank = 0.95 * (n - 1);
  const below = sorted[Math.floor(rank)];
  const p95 = below + (rank % 1) * (sorted[Math.ceil(rank)] - below);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / n;
  return {n, least: sorted[0], mean, p95, greatest: sorted[n - 1]};
}

/** The same of values that count as much as their weights, the quantile being the least value that
 * 95 % of the weight does not exceed. */
function weighted(values, weights) {
  const order = [];
  let all = 0;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i]) || weights[i] <= 0) continue;
    order.push(i);
    all += weights[i];
    sum += values[i] * weights[i];
  }
  if (!order.length) return null;
  order.sort((a, b) => values[a] - values[b]);
  const [first, last] = [order[0], order[order.length - 1]];
  let reached = 0;
  const at = order.find((i) => (reached += weights[i]) >= 0.95 * all) ?? last;
  return {
    n: order.length,
    least: values[first],
    mean: sum / all,
    p95: values[at],
    greatest: values[last],
  };
}
