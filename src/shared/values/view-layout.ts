// Where a view lies in its buffer, even if the buffer can be resized.
//
// Over a resizable buffer a view has a fixed length or follows the buffer's end, and no accessor says
// which. Resizing shows it: the buffer is cut through the view's last byte (or lengthened if the view is
// empty), and restored with its content. No code of the program runs in between.

import * as slots from './slots.ts';
import { VIEW_CLASSES, type ViewClass } from './wire.ts';

export interface ViewLayout {
  readonly tag: number;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly lengthTracking: boolean;
  /** Whether the buffer can be resized. */
  readonly resizable: boolean;
}

interface Accessors {
  readonly buffer: (view: object) => ArrayBufferLike;
  readonly byteOffset: (view: object) => number;
  readonly byteLength: (view: object) => number;
  /** Throws for a view that lies outside its buffer. */
  readonly touch: (view: object) => unknown;
}

const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const TYPED_ARRAY: Accessors = {
  ...accessors(typedArrayPrototype),
  touch: slots.method(typedArrayPrototype.values),
};
const DATA_VIEW: Accessors = {
  ...accessors(DataView.prototype),
  touch: slots.getter(DataView.prototype, 'byteLength'),
};

const classByName = new Map(VIEW_CLASSES.map((entry) => [entry.name, entry]));

export function viewBuffer(view: ArrayBufferView): ArrayBufferLike {
  return accessorsOf(view).buffer(view);
}

export function viewByteLength(view: ArrayBufferView): number {
  return accessorsOf(view).byteLength(view);
}

/** The layout of a view; undefined if it lies outside its buffer, which was made smaller since. */
export function viewLayout(view: ArrayBufferView): ViewLayout | undefined {
  const viewClass = classByName.get(slots.viewClassName(view) ?? 'DataView')!;
  const read = accessorsOf(view);
  const resizable = slots.bufferResizable(read.buffer(view)) === true;
  if (resizable && isOutside(view, read)) return undefined;
  return {
    tag: viewClass.tag,
    byteOffset: read.byteOffset(view),
    byteLength: read.byteLength(view),
    lengthTracking: resizable && followsEnd(view, viewClass, read),
    resizable,
  };
}

/** A view that follows the end of its resizable buffer. @throws RangeError if `offset` is wrong */
export function createTrackingView(
  { create, elementBytes }: ViewClass,
  buffer: ArrayBuffer,
  offset: number,
): ArrayBufferView {
  const size = buffer.byteLength;
  // V8 refuses to make such a view while the buffer ends in part of an element, though it can get
  // there by resizing.
  const part = Math.max(0, size - offset) % elementBytes;
  if (part === 0) return create(buffer, offset);
  const saved = new Uint8Array(buffer).slice(size - part);
  buffer.resize(size - part);
  const view = create(buffer, offset);
  buffer.resize(size);
  new Uint8Array(buffer).set(saved, size - part);
  return view;
}

function followsEnd(view: ArrayBufferView, { elementBytes }: ViewClass, read: Accessors): boolean {
  const buffer = read.buffer(view) as ArrayBuffer;
  const size = buffer.byteLength;
  const length = read.byteLength(view);
  const end = read.byteOffset(view) + length;
  if (size - end >= elementBytes) return false;
  const saved = new Uint8Array(buffer).slice(Math.max(0, end - 1));
  try {
    if (length > 0) {
      buffer.resize(end - 1);
      return !isOutside(view, read);
    }
    // Where no element can ever fit, both kinds of view are the same.
    if (end + elementBytes > buffer.maxByteLength) return false;
    buffer.resize(end + elementBytes);
    return read.byteLength(view) > 0;
  } catch {
    // Memory of WebAssembly cannot be cut; such a view is stored with the length it has.
    return false;
  } finally {
    if (buffer.byteLength !== size) {
      buffer.resize(size);
      new Uint8Array(buffer).set(saved, size - saved.length);
    }
  }
}

function isOutside(view: ArrayBufferView, read: Accessors): boolean {
  try {
    read.touch(view);
    return false;
  } catch {
    return true;
  }
}

function accessorsOf(view: ArrayBufferView): Accessors {
  return slots.viewClassName(view) === undefined ? DATA_VIEW : TYPED_ARRAY;
}

function accessors(prototype: object): Omit<Accessors, 'touch'> {
  return {
    buffer: slots.getter(prototype, 'buffer'),
    byteOffset: slots.getter(prototype, 'byteOffset'),
    byteLength: slots.getter(prototype, 'byteLength'),
  };
}
