// Runs the emulated provider in a worker, where its zones and accounts are objects like any other.

import { ManagementObject } from '../../packages/management/index.ts';
import { serve } from '../../worker/start/entries/objects.ts';

serve({ ManagementObject });
