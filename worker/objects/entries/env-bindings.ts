// The option `bindings`, as the app gives it: names of classes, bindings with objects of their own, and objects that
// are used as they are.

import { type BindingParts, bindingParts } from '../../../src/shared/contract/env-binding.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { ClassTable } from '../instance/object-class.ts';

/**
 * More members of `env`, by name: the name of a class, a binding of `ctx-storage/bindings`, or an object that is used
 * as it is.
 */
export type GivenBindings = Readonly<Record<string, string | object>>;

export class EnvBindings {
  /** Name in `env` to name of a class. */
  readonly classNames: Readonly<Record<string, string>>;
  readonly #own = new Map<string, BindingParts>();
  readonly #given = new Map<string, object>();

  /** @throws CLASS_INVALID */
  constructor(bindings: GivenBindings = {}) {
    const classNames: Record<string, string> = {};
    for (const [name, given] of Object.entries(bindings)) {
      const parts = bindingParts(given);
      if (parts !== undefined) this.#own.set(name, parts);
      else if (typeof given === 'string') classNames[name] = given;
      else this.#given.set(name, checkedObject(name, given));
    }
    this.classNames = classNames;
  }

  /** True: only names of classes. */
  get isEmpty(): boolean {
    return this.#own.size + this.#given.size === 0;
  }

  /** The table with the classes of the bindings. @throws CLASS_INVALID */
  tableWith(table: ClassTable): ClassTable {
    const all = { ...table };
    for (const [binding, { className, class: construct }] of this.#own) {
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

  /** Adds the members that are more than names of classes. */
  bind(env: Record<string, unknown>, namespaceOf: (className: string) => object): void {
    for (const [name, { className, client }] of this.#own) {
      env[name] = client(namespaceOf(className) as never, name);
    }
    for (const [name, given] of this.#given) env[name] = given;
  }
}

function checkedObject(name: string, given: unknown): object {
  if (typeof given === 'function' || (typeof given === 'object' && given !== null)) return given;
  throw storageError(
    'CLASS_INVALID',
    `serve: binding ${name} is ${given === null ? 'null' : typeof given}; give the name of a class, a binding ` +
      'of ctx-storage/bindings, or an object with the members that the code uses.',
  );
}
