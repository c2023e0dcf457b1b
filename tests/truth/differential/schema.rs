//! `proto/kubernetes` and `proto/openshift` as descriptors, with what its options say of a release.

use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor};

pub(crate) struct Schema {
    pool: DescriptorPool,
    group: ExtensionDescriptor,
    go_struct: ExtensionDescriptor,
    go: ExtensionDescriptor,
}

/// A message that is an object of its own.
pub(crate) struct Root {
    pub api_version: String,
    pub message: MessageDescriptor,
    /// The newest release that has it.
    pub minor: u32,
}

/// A field as one release has it.
pub(crate) struct Facts {
    pub json: String,
    pub pointer: bool,
    pub inline: bool,
    /// The message it holds, in itself or as a map's value.
    pub message: Option<MessageDescriptor>,
}

impl Schema {
    pub(crate) fn load() -> Self {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
        let dir = all.join("kubernetes");
        let mut compiler = protox::Compiler::new([&dir, &all]).unwrap();
        compiler.open_files(files(&dir)).unwrap();
        compiler.open_files(files(&all.join("openshift")).iter().map(|path| Path::new("openshift").join(path))).unwrap();
        let pool = compiler.descriptor_pool();
        let extension = |name| pool.get_extension_by_name(name).unwrap();
        Self { group: extension("group"), go_struct: extension("go_struct"), go: extension("go"), pool }
    }

    pub(crate) fn roots(&self) -> Vec<Root> {
        let roots = self.pool.all_messages().filter_map(|message| {
            let file = message.parent_file();
            let options = self.struct_options(&message)?;
            if !file.options().has_extension(&self.group) || !options.get_field_by_name("top_level")?.as_bool()? {
                return None;
            }
            let group = file.options().get_extension(&self.group).as_str()?.to_owned();
            let version = file.package_name().rsplit('.').next()?.to_owned();
            let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
            let minor = if options.has_field_by_name("last") { options.get_field_by_name("last")?.as_u32()? } else { 37 };
            Some(Root { api_version, message, minor })
        });
        roots.collect()
    }

    /// How a message's JSON is written: the name of a `Render`.
    pub(crate) fn render(&self, message: &MessageDescriptor) -> String {
        let Some(options) = self.struct_options(message) else { return "STRUCT".to_owned() };
        let field = options.descriptor_field("render");
        let Kind::Enum(names) = field.kind() else { panic!("render is an enum") };
        names.get_value(options.get_field(&field).as_enum_number().unwrap()).unwrap().name().to_owned()
    }

    /// The field as a release has it; `None` where it has not.
    pub(crate) fn facts(&self, field: &FieldDescriptor, minor: u32) -> Option<Facts> {
        let options = field.options();
        let go = options.has_extension(&self.go).then(|| options.get_extension(&self.go).as_message().unwrap().clone());
        let number = |name: &str, default: u32| go.as_ref().filter(|go| go.has_field_by_name(name)).map_or(default, |go| u32_of(go, name));
        if minor < number("first", 0) || number("last", 255) < minor {
            return None;
        }
        let flag = |name: &str| go.as_ref().is_some_and(|go| go.get_field_by_name(name).unwrap().as_bool().unwrap());
        let kind = match field.kind() {
            Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
            kind => kind,
        };
        let message = if let Kind::Message(message) = kind { Some(message) } else { None };
        let mut facts = Facts { json: field.json_name().to_owned(), pointer: flag("pointer"), inline: flag("inline"), message };
        let was = go.as_ref().map(|go| go.get_field_by_name("was").unwrap().as_list().unwrap().to_vec()).unwrap_or_default();
        if let Some(old) = was.iter().filter_map(|old| old.as_message()).find(|old| minor <= u32_of(old, "last")) {
            if old.has_field_by_name("json") {
                facts.json = old.get_field_by_name("json").unwrap().as_str().unwrap().to_owned();
            }
            if old.has_field_by_name("pointer") {
                facts.pointer = old.get_field_by_name("pointer").unwrap().as_bool().unwrap();
            }
        }
        Some(facts)
    }

    fn struct_options(&self, message: &MessageDescriptor) -> Option<DynamicMessage> {
        let options = message.options();
        options.has_extension(&self.go_struct).then(|| options.get_extension(&self.go_struct).as_message().unwrap().clone())
    }
}

/// Access to a field's descriptor by its name.
trait DescriptorField {
    fn descriptor_field(&self, name: &str) -> FieldDescriptor;
}

impl DescriptorField for DynamicMessage {
    fn descriptor_field(&self, name: &str) -> FieldDescriptor {
        use prost_reflect::ReflectMessage;
        self.descriptor().get_field_by_name(name).unwrap()
    }
}

fn u32_of(message: &DynamicMessage, name: &str) -> u32 {
    message.get_field_by_name(name).unwrap().as_u32().unwrap()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                found.push(path.strip_prefix(dir).unwrap().to_owned());
            }
        }
    }
    found
}
