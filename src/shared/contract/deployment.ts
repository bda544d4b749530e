// A worker's description of its code for the workers of other tabs, as plain data.
//
// Invariant: two workers of one deployment have the same build and code, in whichever tab they run.

/** The number or name that an app gives to a deployment. */
export type Build = number | string;

/** The code of a worker, as other workers know it. */
export interface Deployment {
  /** Null: the app gives none. */
  readonly build: Build | null;
  /** A digest that differs when the code does. */
  readonly code: string;
  /** When the page of the worker was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
}

/** How another deployment compares with one's own. */
export type Order = 'newer' | 'same' | 'older';

/** Most characters of a build: it is part of the name of a lock. */
export const BUILD_CHARS_MAX = 200;

/** Whether a value can be a build. */
export function isBuild(value: unknown): value is Build {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' && value !== '' && value.length <= BUILD_CHARS_MAX;
}

/** The deployment in a message of any shape; null when it tells none. */
export function deploymentIn(value: unknown): Deployment | null {
  if (typeof value !== 'object' || value === null) return null;
  const { build, code, startedMs } = value as Partial<Record<keyof Deployment, unknown>>;
  if (build !== null && !isBuild(build)) return null;
  if (typeof code !== 'string' || typeof startedMs !== 'number') return null;
  return { build, code, startedMs };
}

/** For messages. */
export function nameOfNewer({ build }: Pick<Deployment, 'build'>): string {
  return build === null ? 'a newer deployment' : `a newer deployment (build ${build})`;
}
