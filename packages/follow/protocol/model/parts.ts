// Numbers the parts of worlds (devices, server, wires and the rest) and keeps one instance of each, so that two worlds
// are equal if the numbers of their parts are.
//
// A part is identified by its JSON, or by the numbers of its own parts. The order of the server's clients is ignored,
// because there are only two: the next in turn after one is always the other.
//
// Invariant: equal parts get the same instance, which is never changed.

import type { Cloud, Storage } from './cloud.ts';
import type { Device } from './device.ts';
import type { Wire, World } from './world.ts';

/** The numbers that identify a world: those of its two devices, its server, its wires, and the rest. */
export type WorldNumbers = readonly [number, number, number, number, number];

type Rest = Pick<World, 'late' | 'faults' | 'ghost'>;

export class Parts {
  readonly #numbers = new Map<string, number>();
  /** The instances by their numbers. */
  readonly #instances: object[] = [];
  readonly #known = new Map<object, number>();

  /** Returns the instance that is kept for all devices equal to this one. */
  device(device: Device): Device {
    return this.#instances[this.#device(device)] as Device;
  }

  storage(storage: Storage): Storage {
    return this.#instances[this.#storage(storage)] as Storage;
  }

  cloud(cloud: Cloud): Cloud {
    return this.#instances[this.#cloud(cloud)] as Cloud;
  }

  /** Returns the kept instance of any plain data that JSON can represent. */
  plain<T extends object>(part: T): T {
    return this.#instances[this.#part(part)] as T;
  }

  /** Returns the number of a part of plain data. */
  numberOf(part: object): number {
    return this.#part(part);
  }

  numbersOf({ devices: [a, b], cloud, wires, ...rest }: World): WorldNumbers {
    return [
      this.#device(a),
      this.#device(b),
      this.#cloud(cloud),
      this.#wires(wires),
      this.#rest(rest),
    ];
  }

  worldOf([a, b, cloud, wires, rest]: WorldNumbers): World {
    const { late, faults, ghost } = this.#instances[rest] as Rest;
    return {
      devices: [this.#instances[a] as Device, this.#instances[b] as Device],
      cloud: this.#instances[cloud] as Cloud,
      wires: this.#instances[wires] as readonly Wire[],
      late,
      faults,
      ghost,
    };
  }

  #device(device: Device): number {
    return this.#part(device, 'device', ({ core, base, queue, staged, forecast, app }) => {
      const parts = [core.base, core.queue, core.link, ...base, ...queue, forecast, app];
      const names = parts.map((part) => this.#name<object>(part));
      const { client, maybeSentTo, isForecasting } = core;
      const copies = JSON.stringify([core.copy, staged]);
      return `${names.join('')}${base.length} ${copies} ${maybeSentTo} ${isForecasting} ${client}`;
    });
  }

  #cloud(cloud: Cloud): number {
    return this.#part(cloud, 'cloud', ({ core, storage, slow, life }) => {
      const { clients, connections } = core;
      const server = [this.#map(clients), this.#map(connections), nameOf(this.#storage(storage))];
      return `${server.join('|')}${JSON.stringify([...slow].sort())}${life}`;
    });
  }

  #storage(storage: Storage): number {
    return this.#part(
      storage,
      'storage',
      ({ notes, records }) => this.#name(notes) + this.#map(records),
    );
  }

  #wires(wires: readonly Wire[]): number {
    return this.#part(wires, 'wires', () => {
      let names = '';
      for (const wire of wires) names += nameOf(this.#wire(wire));
      return names;
    });
  }

  #wire(wire: Wire): number {
    return this.#part(
      wire,
      'wire',
      ({ id, up, down, isCut, isOpenAtDevice, isOpenAtServer, isRepeated }) => {
        let messages = '';
        for (const message of up) messages += this.#name(message);
        for (const message of down) messages += this.#name(message);
        const flags =
          Number(isCut) +
          2 * Number(isOpenAtDevice) +
          4 * Number(isOpenAtServer) +
          8 * Number(isRepeated);
        return `${messages}${id},${up.length},${flags}`;
      },
    );
  }

  #rest({ late, faults, ghost }: Rest): number {
    const { past, commits } = ghost;
    const history = this.#part(ghost, 'ghost', () =>
      [this.#name(past), ...commits.map((commit) => nameOf(this.#storage(commit)))].join(''),
    );
    const text = `rest${late === null ? '' : this.#name(late)} ${this.#name(faults)}${nameOf(history)}`;
    return this.#number(text) ?? this.#add(text, { late, faults, ghost });
  }

  #map(map: ReadonlyMap<string | number, object>): string {
    const entries = [...map].sort(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([key, value]) => `${key}${this.#name(value)}`).join('');
  }

  #name<T extends object>(part: T): string {
    return nameOf(this.#part(part));
  }

  #part<T extends object>(
    part: T,
    kind = '',
    textOf: (part: T) => string = JSON.stringify,
  ): number {
    const known = this.#known.get(part);
    if (known !== undefined) return known;
    const text = kind + textOf(part);
    return this.#number(text) ?? this.#add(text, part);
  }

  #number(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  #add(text: string, part: object): number {
    const number = this.#instances.push(part) - 1;
    this.#numbers.set(text, number);
    this.#known.set(part, number);
    return number;
  }
}

/** Writes a number as two characters, so that keys made of numbers stay short. */
function nameOf(number: number): string {
  return String.fromCharCode(number >>> 16, number & 0xffff);
}
