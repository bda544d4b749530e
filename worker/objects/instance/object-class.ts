// The classes a host serves, as user code passes them to `serve`, checked once.
//
// Invariant: a class has one unique key, and no two classes share one: ids are made from it, and files
// are exported to workerd under it. The name is part of the objects' directories, so it must be an
// identifier. No assertion keeps this: classes are the user's, and a wrong one is a typed error.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { type HistoryLimits, historyFault } from '../../../src/shared/contract/history-limits.ts';
import { type DurableObjectId, ObjectIdFactory } from '../../../src/shared/contract/object-id.ts';
import { ENTRYPOINT } from '../../../src/shared/contract/rpc-class.ts';
import type { StorageOptions } from '../../engine/storage/storage-environment.ts';

/** A user's class, constructed with `ctx` and `env`. */
export type UserClass = new (ctx: never, env: never) => object;

/** A class with its options. */
export interface ClassOptions {
  readonly class: UserClass;
  /** `sql`: keys, SQL and recovery. `kv`: keys only. @default 'sql' */
  readonly storage?: 'sql' | 'kv';
  /** The text from which ids are derived; workerd's local form is `<script>-<class>`. */
  readonly uniqueKey?: string;
  /** The compatibility date of the class, as `YYYY-MM-DD`. @default the one of all classes */
  readonly compatibilityDate?: string;
  /** If true, the class is not in `env` and `ctx.exports`, unless `bindings` names it. @default false */
  readonly isHidden?: boolean;
  /** How much history objects of this class keep. @default the option `history` of all classes */
  readonly history?: HistoryLimits;
}

export type ClassTable = Readonly<Record<string, UserClass | ClassOptions>>;

export interface ClassTableOptions {
  /** More names of classes in `env`, as a deployment binds them. Maps each name in `env` to the name of a class. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** If false, a class is in `env` by the names of `bindings` only, as in workerd. @default true */
  readonly bindsClassNames?: boolean;
  /** First part of the unique keys. @default 'worker' */
  readonly scriptName?: string;
  /** The compatibility date of all classes, as `YYYY-MM-DD`; see `docs/compatibility.md`. */
  readonly compatibilityDate?: string;
  /**
   * The exports of the main module, for `ctx.exports`. Classes among them that have no objects of their own can be the
   * classes of facets. Exports that are not classes are ignored.
   */
  readonly exports?: Readonly<Record<string, unknown>>;
}

/** A class whose instances a host makes. */
export interface HostedClass {
  readonly name: string;
  readonly construct: UserClass;
  readonly options: StorageOptions;
}

/** A class with objects of its own. */
export interface ObjectClass extends HostedClass {
  readonly isHidden?: boolean;
  readonly uniqueKey: string;
  readonly ids: ObjectIdFactory;
}

export class ClassRegistry {
  /** Maps each name in `env` to the name of a class. */
  readonly bindings: ReadonlyMap<string, string>;
  /** Classes that only facets have. */
  readonly facetClasses: ReadonlyMap<string, HostedClass>;
  readonly #classes: ReadonlyMap<string, ObjectClass>;

  /** Checks the classes and their options. @throws CLASS_INVALID */
  constructor(table: ClassTable = {}, options: ClassTableOptions = {}) {
    this.#classes = classesOf(table, options);
    this.facetClasses = facetClassesOf(this.#classes, options);
    const { bindsClassNames = true } = options;
    const shown = [...this.#classes.values()].filter(
      ({ isHidden }) => bindsClassNames && !isHidden,
    );
    const bindings = new Map(shown.map(({ name }) => [name, name]));
    for (const [binding, name] of Object.entries(options.bindings ?? {})) {
      if (!this.#classes.has(name)) {
        throw storageError(
          'CLASS_INVALID',
          `serve: binding ${binding} names class ${name}, which is not served; ` +
            `served are: ${this.#list()}.`,
        );
      }
      bindings.set(binding, name);
    }
    this.bindings = bindings;
  }

  get isEmpty(): boolean {
    return this.#classes.size === 0;
  }

  /** False if the code of the classes is elsewhere; their alarms then stay for a host that has the code. */
  get runsAlarms(): boolean {
    return true;
  }

  get all(): Iterable<ObjectClass> {
    return this.#classes.values();
  }

  find(name: string): ObjectClass | undefined {
    return this.#classes.get(name);
  }

  /** Returns the class of this name. @throws UNKNOWN_CLASS */
  get(name: string): ObjectClass {
    const found = this.#classes.get(name);
    if (found === undefined) {
      throw storageError(
        'UNKNOWN_CLASS',
        `The worker serves no class "${name}"; it serves: ${this.#list()}.`,
      );
    }
    return found;
  }

  /** Returns the class of a facet, whose storage is always SQL. @throws UNKNOWN_CLASS */
  ofFacet(name: string): HostedClass {
    const { construct, options } = this.facetClasses.get(name) ?? this.get(name);
    return { name, construct, options: { ...options, backend: 'sql' } };
  }

  #list(): string {
    return [...this.#classes.keys()].join(', ') || 'none';
  }
}

/** Returns the default unique key of a class, in workerd's local form. */
export function uniqueKeyOf(className: string, scriptName = 'worker'): string {
  return `${scriptName}-${className}`;
}

function classesOf(table: ClassTable, options: ClassTableOptions): Map<string, ObjectClass> {
  const classes = new Map<string, ObjectClass>();
  const keys = new Map<string, string>();
  for (const [name, given] of Object.entries(table)) {
    const chosen: ClassOptions = isOptions(given) ? given : { class: given };
    check(name, { ...options, ...chosen });
    const fault = chosen.history === undefined ? null : historyFault(chosen.history);
    if (fault !== null) throw storageError('CLASS_INVALID', `serve: ${name}: ${fault}`);
    const uniqueKey = chosen.uniqueKey ?? uniqueKeyOf(name, options.scriptName);
    const other = keys.get(uniqueKey);
    if (other !== undefined) {
      throw storageError(
        'CLASS_INVALID',
        `serve: classes ${other} and ${name} have the same unique key "${uniqueKey}".`,
      );
    }
    keys.set(uniqueKey, name);
    const compatibilityDate = chosen.compatibilityDate ?? options.compatibilityDate;
    classes.set(name, {
      name,
      uniqueKey,
      ids: new ObjectIdFactory(uniqueKey),
      construct: chosen.class,
      ...(chosen.isHidden && { isHidden: true }),
      options: {
        backend: chosen.storage ?? 'sql',
        ...(compatibilityDate !== undefined && { compatibilityDate }),
        ...(chosen.history !== undefined && { history: chosen.history }),
      },
    });
  }
  return classes;
}

/** Returns the classes among the exports that are not served. */
function facetClassesOf(
  served: ReadonlyMap<string, ObjectClass>,
  { exports = {}, compatibilityDate }: ClassTableOptions,
): Map<string, HostedClass> {
  const dated = compatibilityDate !== undefined && { compatibilityDate };
  const classes = Object.entries(exports)
    .filter(([name, value]) => !served.has(name) && isClass(value))
    .map(([name, value]): [string, HostedClass] => [
      name,
      { name, construct: value as UserClass, options: { backend: 'sql', ...dated } },
    ]);
  return new Map(classes);
}

/** True for a class that can make objects. */
function isClass(value: unknown): boolean {
  const prototype = prototypeOf(value);
  if (typeof prototype !== 'object') return false;
  return Function.prototype.toString.call(value).startsWith('class') && !(ENTRYPOINT in prototype);
}

/**
 * Returns the source code of a class or function. Reads no members of it, because the proxies of some SDKs show none.
 */
export function sourceTextOf(callable: object): string {
  return Function.prototype.toString.call(callable);
}

/**
 * Returns the prototype of a class; undefined if the value is not a class. A proxy may fail to show its prototype, as
 * the proxies of some SDKs do.
 */
export function prototypeOf(value: unknown): Record<symbol, unknown> | undefined {
  if (typeof value !== 'function') return undefined;
  try {
    return value.prototype;
  } catch {
    return {};
  }
}

function isOptions(given: UserClass | ClassOptions): given is ClassOptions {
  return typeof given === 'object' && given !== null && 'class' in given;
}

/** True if a class can have this name. */
export function isClassName(name: string): boolean {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name);
}

function check(name: string, chosen: ClassOptions): void {
  if (!isClassName(name)) {
    throw storageError(
      'CLASS_INVALID',
      `serve: "${name}" is not the name of a class; use an identifier.`,
    );
  }
  const given: unknown = chosen.class;
  if (typeof prototypeOf(given) !== 'object') {
    throw storageError(
      'CLASS_INVALID',
      `serve: ${name} is ${given === null ? 'null' : typeof given}, not a class; give the class, ` +
        'or { class, storage }.',
    );
  }
  const date: unknown = chosen.compatibilityDate;
  if (date !== undefined && (typeof date !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(date))) {
    throw storageError(
      'CLASS_INVALID',
      `serve: the compatibilityDate of ${name} is YYYY-MM-DD, not ${JSON.stringify(date)}.`,
    );
  }
  if (chosen.storage !== undefined && chosen.storage !== 'sql' && chosen.storage !== 'kv') {
    throw storageError(
      'CLASS_INVALID',
      `serve: the storage of ${name} is 'sql' or 'kv', not ${JSON.stringify(chosen.storage)}.`,
    );
  }
}

/** The startup of a facet: the checked result of its parent's callback. */
export interface FacetStartup {
  readonly class: HostedClass;
  /** `ctx.id` of the facet. */
  readonly id: DurableObjectId | string;
  /** `ctx.props` of the facet, as a payload; null if none were given. */
  readonly props: Uint8Array | null;
}
