// The worker in which a page runs the emulator's objects.

import { serve } from '../../../worker/start/entries/objects.ts';
import { ManagementObject } from '../index.ts';

const classes = { ManagementObject };
export type Classes = typeof classes;

serve(classes);
