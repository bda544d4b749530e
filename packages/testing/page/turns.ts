// Waits for posted messages to arrive. Messages over ports take a few turns of the event loop.

/** Waits for this many turns of the event loop. */
export async function turns(count = 5): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve));
}
