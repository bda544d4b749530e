// States of a database in layers: each layer has some pages of its own, and reads all others from the layer below.
//
// An earlier moment (PastState) lies on the committed pages of its object. A branch is an object whose committed pages
// (CommittedPages) lie on an earlier moment of its origin. So the present object, its earlier moments, its branches and
// their moments form one tree. Two of them can differ only in pages of the layers above the nearest layer that both
// share.
//
// To compare two states, open both with `ObjectFiles.openPast` (the present state by its current bookmark). A PastState
// is a layer that never changes, and a DatabaseFile that SQLite can read.
//
// Invariant: `differingPages` lists every page that differs, and may list pages that are equal.

export interface PageLayer {
  readonly pageCount: number;
  /** The layer below; null if this one has all of its pages itself. */
  readonly below: PageLayer | null;
  /** Lists the pages that may differ from those below, in any order; some may lie beyond the end of either layer. */
  ownPages(): Iterable<number>;
}

/** Lists the pages in which two states may differ, in order; returns null if they share no layer. */
export function differingPages(one: PageLayer, other: PageLayer): number[] | null {
  const layers = new Set(layersOf(one));
  const shared = layersOf(other).find((layer) => layers.has(layer));
  if (shared === undefined) return null;
  const pages = new Set<number>();
  for (const state of [one, other]) {
    for (const layer of layersOf(state)) {
      if (layer === shared) break;
      for (const pageIndex of layer.ownPages()) pages.add(pageIndex);
    }
  }
  return [...pages].sort((a, b) => a - b);
}

/** Lists the layer and all layers below it. */
function layersOf(state: PageLayer): PageLayer[] {
  const layers: PageLayer[] = [];
  for (let layer: PageLayer | null = state; layer !== null; layer = layer.below) layers.push(layer);
  return layers;
}
