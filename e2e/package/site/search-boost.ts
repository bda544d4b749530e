// How the site's search ranks pages: those for readers of the guide before the reference, Internals last.

/** A factor for a page of the search's index, `/architecture.html#words`. The site stores its text, so it uses nothing outside. */
export function searchBoost(id: string): number {
  const internal =
    /\/(architecture|decisions|spec|commit-log-format|testing-the-engine|follow-protocol|election|new-sqlite|releasing|hostile-input|internals-benchmarks|worker-size|contributing|reporting)\.html/;
  // The list of all guides is found by the words of each.
  if (internal.test(id) || id.endsWith('/quick-start.html#next')) return 0.1;
  // The quick start's tables name many pages: a search shows the named page before the table.
  const overview = /\/quick-start\.html#(choose-your-beginning|seven-ways-back)$/;
  const reference =
    /\/api\/|\/(management|management-clients|management-schedule|management-errors|benchmarks|changes|errors)\.html/;
  return overview.test(id) || reference.test(id) ? 0.4 : 1;
}
