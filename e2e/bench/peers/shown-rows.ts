// The list that a page of this benchmark shows, and when it was there first.

export interface ShownRow {
  readonly id: number;
  readonly a: string;
}

declare global {
  interface Window {
    /** Milliseconds from the navigation until the list was there, by the state of its rows. */
    shownMs?: Record<string, number>;
  }
}

export function measureShown(rows: readonly ShownRow[], status: string): void {
  const list = document.createElement('ul');
  for (const { id, a } of rows) {
    const item = document.createElement('li');
    item.textContent = `${id} ${a}`;
    list.append(item);
  }
  document.body.replaceChildren(list);
  window.shownMs ??= {};
  window.shownMs[status] ??= performance.now();
}
