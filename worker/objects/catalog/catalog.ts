// A host's index of its objects, which needs no object to be open: which objects exist, and when to open each of them
// because of its alarm.
//
// Invariant: an entry's `wakeMs` is never later than the alarm stored in the object's own database. While the object
// has an instance, `wakeMs` is 0, so that after a crash the next host opens the object. After a clean end, `wakeMs` is
// the time of the alarm, or null. So only objects that a crash left behind are opened just to read their alarm. The
// host asserts that an object at rest has no instance. The alarm itself is in files that the catalog does not read. If
// the catalog is lost, it is rebuilt from the objects' folders.

export interface CatalogEntry {
  /** The key of the object's address. */
  readonly key: string;
  readonly className: string;
  readonly id: string;
  /** The name from which the object's id was made; absent until the object has been used by that name. */
  readonly name?: string;
  /** The time at which a host opens the object because of its alarm, in milliseconds; null if never. */
  readonly wakeMs: number | null;
  /** True once a commit of the object was durable, so that the object has files. */
  readonly isStored?: true;
}

/** A part of the objects of a class. */
export interface CatalogPart {
  /** The page begins after this id; null begins at the first id. */
  readonly after: string | null;
  readonly limit: number;
}

export interface ObjectCatalog {
  /**
   * Adds an object, or its name if that is new. Resolves when the entry would survive a crash: to true if the object
   * was stored before.
   */
  add(entry: CatalogEntry): Promise<boolean>;
  /** Adds the objects found when the catalog was lost: after a crash, all of them are there, or none. */
  build(entries: readonly CatalogEntry[]): Promise<void>;
  /** Finds the entry of an object; undefined if there is none. */
  find(key: string): Promise<CatalogEntry | undefined>;
  /** Called when a commit of the object is durable. */
  stored(key: string): Promise<void>;
  /**
   * Called when the object's files are about to be removed, so that no host reports them as missing if a crash comes
   * before `remove`. The next host looks at the object. Resolves when the entry would survive a crash.
   */
  leaving(key: string): Promise<void>;
  /** Called when the object was closed with this alarm. */
  rest(key: string, wakeMs: number | null): Promise<void>;
  remove(key: string): Promise<void>;
  /** Lists the objects of a class, in order of their keys: those after `part.after`, at most `part.limit`. */
  list(className: string, part?: CatalogPart): Promise<CatalogEntry[]>;
  /** Lists the objects that a host must open some time because of their alarms, in order of that time. */
  wakes(): Promise<CatalogEntry[]>;
  /** True when nothing was ever added, or all entries were lost. */
  isEmpty(): Promise<boolean>;
  close(): void;
}

/** A catalog that ends with its host, like the objects in it. */
export class MemoryCatalog implements ObjectCatalog {
  protected readonly entries = new Map<string, CatalogEntry>();

  async add(entry: CatalogEntry): Promise<boolean> {
    const known = this.entries.get(entry.key);
    this.entries.set(entry.key, withName(entry, known));
    return known?.isStored === true;
  }

  async build(entries: readonly CatalogEntry[]): Promise<void> {
    for (const entry of entries) this.entries.set(entry.key, entry);
  }

  async find(key: string): Promise<CatalogEntry | undefined> {
    return this.entries.get(key);
  }

  async stored(key: string): Promise<void> {
    const known = this.entries.get(key);
    if (known !== undefined) this.entries.set(key, { ...known, isStored: true });
  }

  async leaving(key: string): Promise<void> {
    const known = this.entries.get(key);
    if (known !== undefined) this.entries.set(key, asLeaving(known));
  }

  async rest(key: string, wakeMs: number | null): Promise<void> {
    const known = this.entries.get(key);
    if (known !== undefined) this.entries.set(key, { ...known, wakeMs });
  }

  async remove(key: string): Promise<void> {
    this.entries.delete(key);
  }

  async list(className: string, part: CatalogPart = ALL): Promise<CatalogEntry[]> {
    const ofClass = [...this.entries.values()].filter((entry) => entry.className === className);
    const { after, limit } = part;
    return ofClass
      .filter(({ id }) => after === null || id > after)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, limit);
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

/** The whole catalog. */
export const ALL: CatalogPart = { after: null, limit: Number.POSITIVE_INFINITY };

/** True when adding the entry would change nothing. */
export function isKnown(entry: CatalogEntry, known: CatalogEntry | undefined): boolean {
  const { name } = withName(entry, known);
  return known !== undefined && known.wakeMs === entry.wakeMs && known.name === name;
}

/** Returns the entry with the known name if the entry has none, and as stored if the known entry was stored. */
export function withName(entry: CatalogEntry, known: CatalogEntry | undefined): CatalogEntry {
  const name = entry.name ?? known?.name;
  return {
    ...entry,
    ...(name !== undefined && { name }),
    ...(known?.isStored === true && { isStored: true }),
  };
}

/** Returns the entry of an object whose files are about to be removed. */
export function asLeaving({ isStored, ...entry }: CatalogEntry): CatalogEntry {
  return { ...entry, wakeMs: 0 };
}
