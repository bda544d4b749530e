// What a host knows of its objects without opening them: which there are, and when each is to be
// looked at because of its alarm.
//
// Invariant: an entry's `wakeMs` is never later than the alarm stored in the object's own database.
// While an instance is live it is 0, so a host that died with it in memory makes the next one look;
// after a clean end it is the alarm, or null. So no object is opened just to look, but those that a
// crash has left. It is an index: lost, it is made anew from the objects' folders.

export interface CatalogEntry {
  /** The key of the object's address. */
  readonly key: string;
  readonly className: string;
  readonly id: string;
  /** The name its id was made from, once somebody has used that. */
  readonly name?: string;
  /** When to look at it, in milliseconds; null: never. */
  readonly wakeMs: number | null;
}

export interface ObjectCatalog {
  /** Notes an object, and its name if it is new; resolves when that would outlive a crash. */
  add(entry: CatalogEntry): Promise<void>;
  /** The object was closed; its alarm is this. */
  rest(key: string, wakeMs: number | null): Promise<void>;
  remove(key: string): Promise<void>;
  /** The objects of a class, in order of their keys. */
  list(className: string): Promise<CatalogEntry[]>;
  /** The objects that are to be looked at some time, the first one first. */
  wakes(): Promise<CatalogEntry[]>;
  /** True when nothing was ever noted, or all of it was lost. */
  isEmpty(): Promise<boolean>;
  close(): void;
}

/** A catalog that is gone with its host, as the objects it tells of. */
export class MemoryCatalog implements ObjectCatalog {
  protected readonly entries = new Map<string, CatalogEntry>();

  async add(entry: CatalogEntry): Promise<void> {
    this.entries.set(entry.key, withName(entry, this.entries.get(entry.key)));
  }

  async rest(key: string, wakeMs: number | null): Promise<void> {
    const known = this.entries.get(key);
    if (known !== undefined) this.entries.set(key, { ...known, wakeMs });
  }

  async remove(key: string): Promise<void> {
    this.entries.delete(key);
  }

  async list(className: string): Promise<CatalogEntry[]> {
    return [...this.entries.values()]
      .filter((entry) => entry.className === className)
      .sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async wakes(): Promise<CatalogEntry[]> {
    const timeOf = ({ wakeMs }: CatalogEntry) => wakeMs ?? Number.POSITIVE_INFINITY;
    return [...this.entries.values()]
      .filter(({ wakeMs }) => wakeMs !== null)
      .sort((a, b) => timeOf(a) - timeOf(b));
  }

  async isEmpty(): Promise<boolean> {
    return this.entries.size === 0;
  }

  close(): void {}
}

/** True when noting the entry changes nothing. */
export function isKnown(entry: CatalogEntry, known: CatalogEntry | undefined): boolean {
  const { name } = withName(entry, known);
  return known !== undefined && known.wakeMs === entry.wakeMs && known.name === name;
}

/** A name that was known stays known. */
export function withName(entry: CatalogEntry, known: CatalogEntry | undefined): CatalogEntry {
  const name = entry.name ?? known?.name;
  return name === undefined ? entry : { ...entry, name };
}
