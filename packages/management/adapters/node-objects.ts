// Opens the emulator's objects in a Node process, with the package `ctx-storage`, on which the emulator depends.
//
// Only this module needs more than the interface of storage. It loads the engine when the first objects are opened. The
// emulator's library does not import it.

import { ManagementObject } from '../objects/management-object.ts';
import type { ManagementNamespace } from '../objects/objects.ts';

export interface OpenedObjects {
  readonly namespace: ManagementNamespace;
  close(): Promise<void>;
}

/** Creates objects of the class `ManagementObject`, in a folder or in memory. */
export type OpenObjects = (directory?: string) => Promise<OpenedObjects>;

export const openObjects: OpenObjects = async (directory) => {
  const { createObjects } = await import('ctx-storage/node');
  const objects = await createObjects(
    { ManagementObject },
    directory === undefined ? {} : { directory },
  );
  return { namespace: objects.env.ManagementObject, close: () => objects.close() };
};
