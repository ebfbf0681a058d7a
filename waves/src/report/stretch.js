// The stretch of time that the pictures of a page show. The event `stretch` of the document tells all of them which,
// with start and end in nanoseconds, or with nothing for what they show at first.
const stretch = (() => {
  const tell = (...ends) => document.dispatchEvent(new CustomEvent("stretch", { detail: ends }));

  // The least of a run that is shown: a hundred-thousandth of it, or ten nanoseconds.
  const least = ([begin, end]) => Math.min(end - begin, Math.max(10, (end - begin) / 1e5));
  // The stretch from a to b, or around it if that is less than the least, within the run.
  const within = ([begin, end], a, b) => {
    const length = Math.min(end - begin, Math.max(least([begin, end]), b - a));
    const start = Math.max(begin, Math.min(end - length, (a + b - length) / 2));
    return [start, start + length];
  };

  // The unit in which times up to `ns` are written: its size and name.
  const unit = ns => (ns < 2e3 ? [1, "ns"] : ns < 2e6 ? [1e3, "µs"] : ns < 2e9 ? [1e6, "ms"] : [1e9, "s"]);
  // A time as exact as the stretch is short.
  const when = (ns, [from, to]) => {
    const [size, name] = unit(to), digits = Math.max(0, Math.ceil(3 - Math.log10((to - from) / size)));
    return (ns / size).toLocaleString("en", { maximumFractionDigits: Math.min(9, digits) }) + " " + name;
  };

  // For how much of each of so many columns spans are on, each for a part of its length; of all of them, in per cent;
  // and how many spans there are.
  const covered = (spans, [from, to], count) => {
    const column = (to - from) / count, on = new Float64Array(count);
    let [sum, times] = [0, 0];
    for (const [start, length, part = length] of spans) {
      const [a, b] = [Math.max(start, from), Math.min(start + length, to)];
      if (b <= a) continue;
      sum += ((b - a) * part) / length;
      times++;
      for (let c = Math.floor((a - from) / column); c < count && from + c * column < b; c++) {
        const both = Math.min(b, from + (c + 1) * column) - Math.max(a, from + c * column);
        on[c] += (both * part) / length / column;
      }
    }
    return { on, times, share: (sum / (to - from)) * 100 };
  };
  return { tell, least, within, unit, when, covered };
})();
