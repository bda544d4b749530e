// The option `bindings`, as the app gives it: names of classes, bindings with objects of their own, and objects that
// are used as they are.

import {
  type BindingParts,
  bindingParts,
  type EnvBinding,
} from '../../../src/shared/contract/env-binding.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';
import type { EntryHandle } from '../../../src/shared/contract/service.ts';
import type { ClassTable } from '../instance/object-class.ts';

/**
 * More members of `env`, by name: the name of a class, a binding of `ctx-storage/bindings`, or an object that is used
 * as it is.
 */
export type GivenBindings = Readonly<Record<string, string | object>>;

export class EnvBindings {
  /** Maps each name in `env` to the name of a class. */
  readonly classNames: Readonly<Record<string, string>>;
  /** Lists the bindings with their names, including bindings that are not members of `env`. */
  readonly own: (readonly [name: string, parts: BindingParts])[] = [];
  readonly #given = new Map<string, object>();

  /** `crons` is the binding that runs `scheduled`. @throws CLASS_INVALID */
  constructor(bindings: GivenBindings = {}, crons?: EnvBinding) {
    const classNames: Record<string, string> = {};
    for (const [name, given] of Object.entries(bindings)) {
      const parts = bindingParts(given, name);
      if (parts !== undefined) this.own.push([name, parts]);
      else if (typeof given === 'string') classNames[name] = given;
      else this.#given.set(name, checkedObject(name, given));
    }
    this.classNames = classNames;
    if (crons !== undefined) this.own.push(['crons', cronParts(crons)]);
  }

  /** True if `bindings` only gives names to classes. */
  get isEmpty(): boolean {
    return this.own.length + this.#given.size === 0;
  }

  /** Returns the table with the classes of the bindings added. @throws CLASS_INVALID */
  tableWith(table: ClassTable): ClassTable {
    const all = { ...table };
    for (const [binding, { className, class: construct }] of this.own) {
      if (Object.hasOwn(table, className)) {
        throw storageError(
          'CLASS_INVALID',
          `serve: ${className} is the class of binding ${binding}; give the app's class another name.`,
        );
      }
      all[className] = { class: construct, isHidden: true };
    }
    return all;
  }

  /** Adds the members of `env` that are more than names of classes. */
  bind(env: Record<string, unknown>, namespaceOf: (className: string) => object): void {
    for (const [name, parts] of this.own) {
      if (parts.client) env[name] = parts.client(namespaceOf(parts.className) as never);
    }
    for (const [name, given] of this.#given) env[name] = given;
  }

  /** Returns the `env` of the objects of a binding's class; undefined for the classes of the app. */
  inside(
    className: string,
    objects: () => object,
    entryOf: (parts: BindingParts) => EntryHandle | undefined,
  ): object | undefined {
    const own = this.own.filter(([, parts]) => parts.className === className);
    if (own.length === 0) return undefined;
    return Object.fromEntries(
      own.flatMap(([name, parts]) =>
        parts.inside
          ? [[name, parts.inside(objects() as DurableObjectNamespace, entryOf(parts))]]
          : [],
      ),
    );
  }

  async start(namespaceOf: (className: string) => object): Promise<void> {
    await Promise.all(
      this.own.map(([, parts]) => parts.start?.(namespaceOf(parts.className) as never)),
    );
  }
}

function cronParts(crons: unknown): BindingParts {
  const parts = bindingParts(crons, 'crons');
  if (parts !== undefined) return parts;
  throw storageError(
    'CLASS_INVALID',
    "serve: crons is not a binding; give cronTriggers(['*/5 * * * *']) of ctx-storage/bindings.",
  );
}

function checkedObject(name: string, given: unknown): object {
  if (typeof given === 'function' || (typeof given === 'object' && given !== null)) return given;
  throw storageError(
    'CLASS_INVALID',
    `serve: binding ${name} is ${given === null ? 'null' : typeof given}; give the name of a class, a binding ` +
      'of ctx-storage/bindings, or an object with the members that the code uses.',
  );
}
