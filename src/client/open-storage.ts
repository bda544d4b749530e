// Opens objects on a page. Handles of one directory share the page's worker and its connection.

import type { RemoteStorage as RemoteStorageInterface } from '../contract/storage.ts';
import type { LeaderFinders } from './leader-finders.ts';
import { RemoteStorage } from './remote-storage.ts';
import { Session } from './session.ts';
import type { WorkerChoice } from './worker-choice.ts';

/** A handle on the object of this name. @throws as `openStorage` */
export async function openObjectStorage(
  finders: LeaderFinders,
  name: string,
  choice: WorkerChoice,
): Promise<RemoteStorageInterface> {
  const session = new Session(name, finders.finderFor(choice), finders.environment.now);
  await session.open();
  return new RemoteStorage(session, finders.environment);
}
