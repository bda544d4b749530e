// Readable states of pages, in layers: each has some pages of its own, and shows those of the state below it
// for all others.
//
// An earlier moment (PastState) lies on the committed pages of its object. A branch is an object whose
// committed pages (CommittedPages) lie on an earlier moment of its origin. So the object as it is, its moments, its
// branches and their moments all form one tree, and two of them can only differ in pages that lie above the layer
// that both have in common.
//
// To compare two states of pages, open both as PastState (`ObjectFiles.openPast`, of a branch as of any object, of now
// by its current bookmark): it is a DatabaseFile that SQLite reads, it never changes, and it is a layer.
//
// Invariant: the answer names each page that differs, and may name others. Knows nothing of files and logs.

export interface PageLayer {
  readonly pageCount: number;
  /** The state below; null: it has all of its pages itself. */
  readonly below: PageLayer | null;
  /** Pages that may differ from those of the state below, in no order, perhaps beyond the end of either. */
  ownPages(): Iterable<number>;
}

/** The pages in which two states may differ, in order; null if they have nothing in common. */
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

/** The state, the one below it, and so on. */
function layersOf(state: PageLayer): PageLayer[] {
  const layers: PageLayer[] = [];
  for (let layer: PageLayer | null = state; layer !== null; layer = layer.below) layers.push(layer);
  return layers;
}
