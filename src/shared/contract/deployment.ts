// Defines how a worker describes its code to the workers of other tabs.
//
// Invariant: two workers of one deployment have the same build and code, in whichever tab they run.

/** The number or name that an app gives to a deployment. */
export type Build = number | string;

/** The description of a worker's code. */
export interface Deployment {
  /** The app's number or name for this deployment; null if the app gives none. */
  readonly build: Build | null;
  /** A digest that differs between different code. */
  readonly code: string;
  /** The time when the worker's page was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
}

/** The order of another deployment relative to the worker's own. */
export type Order = 'newer' | 'same' | 'older';

/** The most characters of a build, which becomes part of a lock's name. */
export const BUILD_CHARS_MAX = 200;

/** Returns true if a value can be a build. */
export function isBuild(value: unknown): value is Build {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' && value !== '' && value.length <= BUILD_CHARS_MAX;
}

/** Reads the deployment from a message of any shape; null if there is none. */
export function deploymentIn(value: unknown): Deployment | null {
  if (typeof value !== 'object' || value === null) return null;
  const { build, code, startedMs } = value as Partial<Record<keyof Deployment, unknown>>;
  if (build !== null && !isBuild(build)) return null;
  if (typeof code !== 'string' || typeof startedMs !== 'number') return null;
  return { build, code, startedMs };
}

/** Describes a newer deployment in error messages. */
export function nameOfNewer({ build }: Pick<Deployment, 'build'>): string {
  return build === null ? 'a newer deployment' : `a newer deployment (build ${build})`;
}
