// Days as text, `YYYY-MM-DD` in UTC. In this form, the order of texts is the order of days.

/** Returns the day of an ISO 8601 date or date and time; undefined if the text is neither. */
export function dayOf(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(trimmed)) return undefined;
  const ms = Date.parse(trimmed);
  if (Number.isNaN(ms)) return undefined;
  // Date.parse reads 31 February as 3 March, so the day must be the one that was written.
  const written = trimmed.slice(0, 'YYYY-MM-DD'.length);
  return dayOfMs(Date.parse(written)) === written ? dayOfMs(ms) : undefined;
}

export function dayOfMs(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
