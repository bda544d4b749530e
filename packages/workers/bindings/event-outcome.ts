// An event of an entry point, sent by the object of a binding.

/**
 * Its result; undefined: its handler was not reached, such as after an error of the constructor, which is reported.
 *
 * @throws CONNECTION_CLOSED: the host ends, which is no failure of the handler
 */
export async function outcomeOf<T>(event: Promise<T>): Promise<T | undefined> {
  try {
    return await event;
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === 'CONNECTION_CLOSED') throw error;
    if (typeof reportError === 'function') reportError(error);
    else console.error('An event was not delivered:', error);
    return undefined;
  }
}
