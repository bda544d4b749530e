// Classes whose code is elsewhere: a host of them keeps the storage of any class's objects for tools, and runs no
// code of theirs.
//
// Invariant: a host with the code finds all data stored meanwhile: objects are in the catalog, and alarms stay
// set. A host of these begins no alarm. No assertion keeps this: it is about the next host, which a test starts.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { ObjectIdFactory } from '../../../src/shared/contract/object-id.ts';
import { ClassRegistry, isClassName, type ObjectClass, uniqueKeyOf } from './object-class.ts';

/** A registry in which every name is the name of a class. */
export class UnhostedClasses extends ClassRegistry {
  readonly #known = new Map<string, ObjectClass>();

  override get isEmpty(): boolean {
    return false;
  }

  override get runsAlarms(): boolean {
    return false;
  }

  override find(name: string): ObjectClass | undefined {
    return isClassName(name) ? this.#unhostedClass(name) : undefined;
  }

  /** Returns the class of this name. @throws UNKNOWN_CLASS */
  override get(name: string): ObjectClass {
    const found = this.find(name);
    if (found !== undefined) return found;
    throw storageError('UNKNOWN_CLASS', `"${name}" is not the name of a class; use an identifier.`);
  }

  #unhostedClass(name: string): ObjectClass {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const uniqueKey = uniqueKeyOf(name);
    const made: ObjectClass = {
      name,
      uniqueKey,
      ids: new ObjectIdFactory(uniqueKey),
      construct: Unhosted,
      options: { backend: 'sql' },
    };
    this.#known.set(name, made);
    return made;
  }
}

/** The class of all objects. It has an alarm handler, which never runs, so that alarms can be set. */
class Unhosted {
  alarm(): void {}
}
