// Implements the namespace of a class in `env`, which makes ids and stubs of its objects. All methods are synchronous.

import { checkArgumentCount, convertString } from '../../contract/arguments.ts';
import { storageError } from '../../contract/errors.ts';
import type { DurableObjectJurisdiction } from '../../contract/object.ts';
import { DurableObjectId, type ObjectIdFactory } from '../../contract/object-id.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import { checkGetOptions } from './get-options.ts';
import { setNamespace } from './known-stubs.ts';
import { createStub, type ObjectCaller } from './stub.ts';

const JURISDICTIONS: ReadonlySet<unknown> = new Set<DurableObjectJurisdiction>([
  'eu',
  'fedramp',
  'fedramp-high',
  'us',
]);

/** The class of a namespace, and the caller of its objects. */
export interface NamespaceOptions {
  readonly className: string;
  readonly ids: ObjectIdFactory;
  readonly caller: ObjectCaller;
  readonly jurisdiction?: string;
  /** True if the objects follow objects on a server. @default false */
  readonly follows?: boolean;
}

/** A base class whose constructor can return a function, so that a namespace can be called. */
class Shell {
  constructor(shell: object | undefined) {
    // biome-ignore lint/correctness/noConstructorReturn: the private members are put on it
    if (shell !== undefined) return shell;
  }
}

export class DurableObjectNamespace extends Shell {
  readonly #options: NamespaceOptions;
  /** The ids that are known to be of this class, because a check computes two digests. */
  readonly #known = new WeakSet<DurableObjectId>();

  constructor(options: NamespaceOptions, shell?: object) {
    super(shell);
    this.#options = options;
    setNamespace(this, options.className, options.caller);
  }

  newUniqueId(options?: { jurisdiction?: unknown } | null): DurableObjectId {
    const { ids, jurisdiction } = this.#options;
    const chosen = options?.jurisdiction ?? undefined;
    return this.#know(
      ids.newUnique(chosen === undefined ? jurisdiction : checkJurisdiction(chosen)),
    );
  }

  idFromName(...parameters: [name: unknown]): DurableObjectId {
    checkArgumentCount('idFromName', parameters.length, 1);
    const { ids, jurisdiction } = this.#options;
    return this.#know(ids.fromName(convertString('idFromName', parameters[0]), jurisdiction));
  }

  idFromString(...parameters: [id: unknown]): DurableObjectId {
    checkArgumentCount('idFromString', parameters.length, 1);
    return this.#know(this.#options.ids.fromString(convertString('idFromString', parameters[0])));
  }

  get(id: unknown, options?: unknown): object {
    const { className, ids, caller, follows } = this.#options;
    if (!(id instanceof DurableObjectId)) {
      throw storageError(
        'INVALID_ARGUMENT',
        `get: takes an id of class ${className}, made by idFromName, idFromString or newUniqueId.`,
      );
    }
    checkGetOptions('get', options);
    if (!this.#known.has(id)) {
      ids.fromString(id.toString());
      this.#know(id);
    }
    return createStub({ className, id }, caller, follows);
  }

  getByName(...parameters: [name: unknown, options?: unknown]): object {
    checkArgumentCount('getByName', parameters.length, 1);
    const { className, ids, caller, jurisdiction, follows } = this.#options;
    const name = convertString('getByName', parameters[0]);
    checkGetOptions('getByName', parameters[1]);
    return createStub({ className, id: ids.fromName(name, jurisdiction) }, caller, follows);
  }

  jurisdiction(jurisdiction: unknown): DurableObjectNamespace {
    const { jurisdiction: _, ...options } = this.#options;
    // Without a jurisdiction, the result is the namespace of all objects.
    if (jurisdiction === undefined || jurisdiction === null) {
      return new DurableObjectNamespace(options);
    }
    return new DurableObjectNamespace({
      ...options,
      jurisdiction: checkJurisdiction(jurisdiction),
    });
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectNamespace';
  }

  #know(id: DurableObjectId): DurableObjectId {
    this.#known.add(id);
    return id;
  }
}

refuseToClone(DurableObjectNamespace);

function checkJurisdiction(jurisdiction: unknown): string {
  if (JURISDICTIONS.has(jurisdiction)) return jurisdiction as string;
  throw storageError(
    'INVALID_ARGUMENT',
    `"${String(jurisdiction)}" is not a jurisdiction; use one of ${[...JURISDICTIONS].join(', ')}.`,
  );
}
