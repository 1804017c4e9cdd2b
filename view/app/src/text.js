// Numbers as people read them.

export function number(value) {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

export function bytesText(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  let unit = 0;
  for (; bytes >= 1000 && unit < 3; ++unit) bytes /= 1000;
  return `${number(bytes)} ${units[unit]}`;
}

export function durationText(seconds) {
  if (seconds < 1) return 'a second';
  if (seconds < 90) return `${seconds.toFixed(0)} s`;
  if (seconds < 5400) return `${(seconds / 60).toFixed(0)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
