// The blank page with an inspector on it, of an object or of the classes of a worker.

import { type MountedInspector, mountInspector } from '../../../packages/inspector/index.ts';
import './blank.ts';

const app = () => document.getElementById('app')!;

/** Inspects the object of this name. */
async function inspectStorage(name: string): Promise<MountedInspector> {
  return mountInspector(app(), { storage: await window.api.openStorage(name) });
}

/** Inspects the objects of the test's classes. */
async function inspectObjects(): Promise<MountedInspector> {
  const objects = await window.api.connectRooms();
  return mountInspector(app(), { objects, clock: objects.clock });
}

const inspector = { inspectStorage, inspectObjects };

declare global {
  interface Window {
    inspector: typeof inspector;
  }
}

window.inspector = inspector;
