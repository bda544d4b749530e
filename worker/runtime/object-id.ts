// The id of an object: 64 hexadecimal digits, made from its name.
//
// The same name always gives the same id, so no register of names is needed; it is also the name of
// the object's directory, short and safe on every file system whatever the object's name holds.

export class DurableObjectId {
  /** The name the id was made from. */
  readonly name: string;
  readonly #hex: string;

  private constructor(hex: string, name: string) {
    this.#hex = hex;
    this.name = name;
  }

  static async fromName(name: string): Promise<DurableObjectId> {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'));
    return new DurableObjectId(hex.join(''), name);
  }

  toString(): string {
    return this.#hex;
  }

  equals(other: unknown): boolean {
    return other instanceof DurableObjectId && other.#hex === this.#hex;
  }
}
