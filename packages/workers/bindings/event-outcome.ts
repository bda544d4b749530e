// The outcome of an event that the object of a queue or of cron triggers sends to an entry point.

/**
 * Waits for the result of the event. It is undefined if the handler was not reached, for example because a constructor
 * threw; that error is reported.
 *
 * @throws CONNECTION_CLOSED if the host ends meanwhile, so that the caller does not count it as a failure of the
 *   handler
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
