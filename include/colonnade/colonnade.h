// The whole public interface except the DataFrame, which is in colonnade/dataframe.h. Include single headers
// where compile time matters.
#ifndef COLONNADE_COLONNADE_H
#define COLONNADE_COLONNADE_H

#include "colonnade/attributes.h"
#include "colonnade/cache.h"
#include "colonnade/chain.h"
#include "colonnade/column_type.h"
#include "colonnade/columnar.h"
#include "colonnade/copy.h"
#include "colonnade/describe.h"
#include "colonnade/descriptor.h"
#include "colonnade/entry.h"
#include "colonnade/error.h"
#include "colonnade/field.h"
#include "colonnade/field_types.h"
#include "colonnade/garbage.h"
#include "colonnade/join.h"
#include "colonnade/merge.h"
#include "colonnade/model.h"
#include "colonnade/options.h"
#include "colonnade/parallel_writer.h"
#include "colonnade/reader.h"
#include "colonnade/repair.h"
#include "colonnade/sealed_columns.h"
#include "colonnade/shared_writer.h"
#include "colonnade/types.h"
#include "colonnade/view.h"
#include "colonnade/warning.h"
#include "colonnade/writer.h"

#endif
