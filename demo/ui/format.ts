// Formats numbers, sizes and times in English whatever the locale is, like the text of the page.

const count = new Intl.NumberFormat('en');
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const time = new Intl.DateTimeFormat('en', { timeStyle: 'short' });
const timeOfDay = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });

export function formatCount(value: number): string {
  return count.format(value);
}

/** Formats a number with its noun, as in "1 note" and "2 notes". */
export function counted(value: number, noun: string): string {
  return `${count.format(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${oneDigit.format(bytes / 1024)} KiB`;
  return `${oneDigit.format(bytes / 1024 ** 2)} MiB`;
}

export function formatDurationMs(durationMs: number): string {
  if (durationMs < 1000) return `${oneDigit.format(durationMs)} ms`;
  return `${oneDigit.format(durationMs / 1000)} s`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Formats the time until a moment, as in "in 59 min", or "due" if it is past. */
export function formatUntil(timeMs: number, nowMs: number): string {
  const leftMs = timeMs - nowMs;
  const unit = UNITS.find(([, unitMs]) => leftMs >= unitMs);
  return unit === undefined ? 'due' : `in ${Math.floor(leftMs / unit[1])} ${unit[0]}`;
}

/** Formats a moment as its time if it is today, else as its day. */
export function formatShortTime(timeMs: number): string {
  const date = new Date(timeMs);
  const today = new Date();
  return date.toDateString() === today.toDateString() ? time.format(date) : day.format(date);
}

/** Formats a moment as its time with seconds. */
export function formatTime(timeMs: number): string {
  return timeOfDay.format(new Date(timeMs));
}

export function formatDateTime(timeMs: number): string {
  return dateTime.format(new Date(timeMs));
}
