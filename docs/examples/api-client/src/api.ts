// Sends requests to the API, and notes what its answers say about their own end.

/** An operation that will end, or has. */
export interface Notice {
  /** The last part of the path. */
  readonly operation: string;
  /** The first day without it. */
  readonly endsOn: string;
  /** The path of the operation that replaces it. */
  readonly successor: string | undefined;
}

export class Api {
  readonly notices: Notice[] = [];
  readonly #address: string;
  readonly #send: typeof fetch;

  /** `send` is the `fetch` that reaches the API; tests pass that of the emulator. */
  constructor(address: string, send: typeof fetch = fetch) {
    this.#address = address;
    this.#send = send;
  }

  /** The `result` of the answer. @throws Error with the API's own message */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.#send(this.#address + path, {
      method,
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    this.#note(path, response.headers);
    const { result, errors } = await response.json();
    if (!response.ok) throw new Error(errors[0].message);
    return result;
  }

  #note(path: string, headers: Headers): void {
    const sunset = headers.get('sunset'); // RFC 8594
    if (sunset === null) return;
    const [, successor] =
      /<([^>]*)>; rel="successor-version"/.exec(headers.get('link') ?? '') ?? [];
    const endsOn = new Date(sunset).toISOString().slice(0, 10);
    this.notices.push({ operation: path.split('/').at(-1)!, endsOn, successor });
  }
}
